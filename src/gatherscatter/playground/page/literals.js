// Text to tensors and back. The text is that of JSON, Python or a printed NumPy array: brackets, with or without commas.

// Something that was typed and means nothing; the library never sees it.
class Mistake extends Error {}

// What follows an opening bracket, a closing one, a quoted text, a word; commas and spaces are passed over.
const TOKEN = /\s*(?:([[(])|([\])])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s,[\]()"']+)|(,))/gsy;

// The shape and the words of nested brackets, row by row.
function readNested(text) {
  const words = [];
  const shape = [];
  const open = []; // how many entries each bracket that is open has so far
  const closed = new Set(); // depths whose length is known
  let atDepth = -1; // the depth at which words stand
  let done = false;
  const entry = () => {
    if (done) throw new Mistake("there is something after the last bracket");
    if (open.length) open[open.length - 1] += 1;
  };
  for (const [, opening, closing, double, single, word, comma] of tokens(text)) {
    if (comma) {
      if (!open.length) throw new Mistake("there is a comma outside of brackets");
    } else if (opening) {
      entry();
      if (atDepth >= 0 && open.length >= atDepth) throw new Mistake("a list stands where others have a value");
      open.push(0);
    } else if (closing) {
      if (!open.length) throw new Mistake("there is a closing bracket too many");
      const length = open.pop();
      if (closed.has(open.length) && shape[open.length] !== length)
        throw new Mistake(`the lists of dimension ${open.length} have different lengths: ${shape[open.length]} and ${length}`);
      closed.add(open.length);
      shape[open.length] = length;
      done = open.length === 0;
    } else {
      entry();
      if (atDepth >= 0 && atDepth !== open.length) throw new Mistake("a value stands where others have a list");
      atDepth = open.length;
      words.push(word ?? unescaped(double ?? single));
      done = open.length === 0;
    }
  }
  if (open.length) throw new Mistake("a closing bracket is missing");
  if (!done) throw new Mistake("there is no value");
  return { shape: checkedShape(shape, words), words };
}

function* tokens(text) {
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text);
    if (!token) throw new Mistake(`${quoted(text.slice(at).trim().slice(0, 12))} can't be read`);
    yield token;
  }
}

function checkedShape(shape, words) {
  const sizes = Array.from(shape, (size) => size ?? 0);
  if (words.length !== countOf(sizes)) throw new Mistake("a list stands where others have a value");
  return sizes;
}

const ESCAPES = { n: "\n", t: "\t", r: "\r", 0: "\0" };

function unescaped(text) {
  return text.replace(/\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|(.))/gis, (_, long, short, plain) =>
    plain === undefined ? String.fromCharCode(parseInt(long ?? short, 16)) : (ESCAPES[plain] ?? plain),
  );
}

function readTensor(type, text) {
  const { shape, words } = readNested(text);
  return { type, shape, values: words.map((word) => readElement(type, word)) };
}

// "2, 3", "(2, 3)", "[2,3]", or nothing, which is the shape of a scalar.
function readShape(text) {
  const inner = text.trim().replace(/^[[(]|[\])]$/g, "");
  const words = inner.split(/[\s,x×]+/).filter((word) => word !== "");
  return words.map((word) => {
    const size = /^\d{1,6}$/.test(word) ? Number(word) : NaN;
    if (Number.isNaN(size)) throw new Mistake(`${quoted(word)} is no size`);
    return size;
  });
}

function wordText(type, element) {
  const text = elementText(type, element);
  return familyOf(type) === "string" ? quoted(text) : text;
}

function quoted(text) {
  return JSON.stringify(text);
}

// Nested brackets; in several lines, as NumPy prints, if `lines`.
function tensorText({ type, shape, values }, lines = false) {
  const words = values.map((element) => wordText(type, element));
  const written = values.length ? shape : emptyLists(shape);
  const width = lines && shape.length > 1 ? Math.max(0, ...words.map((word) => word.length)) : 0;
  const nested = (depth, from, count) => {
    if (depth === written.length) return words[from].padStart(width);
    const step = written[depth] ? count / written[depth] : 0;
    const parts = Array.from({ length: written[depth] }, (_, i) => nested(depth + 1, from + i * step, step));
    const deeper = written.length - depth - 1;
    const gap = lines && deeper ? "\n".repeat(Math.min(deeper, 2)) + " ".repeat(depth + 1) : " ";
    return `[${parts.join(`,${gap}`)}]`;
  };
  return nested(0, 0, values.length);
}

const MOST_LISTS = 100;

// Of a shape without elements, what brackets can show of it: the sizes up to the first 0.
function emptyLists(shape) {
  const sizes = shape.slice(0, shape.indexOf(0) + 1);
  return countOf(sizes.slice(0, -1)) <= MOST_LISTS ? sizes : [0];
}

// An attribute's value: an integer is a BigInt, a number with a point a Number, then true and false, and text.
function readAttribute(text) {
  const word = text.trim();
  if (INTEGER.test(word)) return BigInt(word.replace(/^\+/, ""));
  if (DECIMAL.test(word) || NAN.test(word) || INFINITE.test(word)) return readNumber(word);
  if (/^(true|false)$/i.test(word)) return /^t/i.test(word);
  return /^".*"$/s.test(word) ? unescaped(word.slice(1, -1)) : text;
}

function attributeText(value) {
  if (typeof value === "number") return Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (typeof value !== "string") return String(value);
  return readAttribute(value) === value ? value : quoted(value);
}
