// What the page shows: an op version, its inputs (by name; null where an optional one is left out) and attributes. The
// address keeps it, in words that one can type: #op=onnx.GatherND-13&data=int32:[[1,2],[3,4]]&indices=int64:[[0,1]]

let state = null;

function callOf({ op, inputs, attributes }) {
  const row = ops.get(op);
  return { row, tensors: row.inputs.map(({ name }) => inputs.get(name) ?? null), attributes };
}

function fragmentOf({ op, inputs, attributes }) {
  const parts = [["op", op]];
  for (const [name, tensor] of inputs) if (tensor) parts.push([name, writtenTensor(tensor)]);
  for (const [name, value] of attributes) parts.push([name, attributeText(value)]);
  return parts.map(([name, text]) => `${encodeURIComponent(name)}=${readable(text)}`).join("&");
}

// Only what would end the text, or what mail programs stop at, is written with a percent sign.
function readable(text) {
  return encodeURIComponent(text).replace(/%(3A|2C|5B|5D|28|29)/g, (escape) => decodeURIComponent(escape));
}

// The type, the shape where the text can't tell it, and the text.
function writtenTensor(tensor) {
  if (!tensor.values.length) return `${tensor.type}${tupleText(tensor.shape).replaceAll(" ", "")}:[]`;
  const text = tensorText(tensor);
  return `${tensor.type}:${familyOf(tensor.type) === "string" ? text : text.replaceAll(" ", "")}`;
}

const WRITTEN = /^(\w+)(?:\(([\d, ]*)\))?:(.*)$/s;

function tensorWritten(name, written) {
  const [, type, shape, text] = WRITTEN.exec(written) ?? [];
  if (type === undefined) throw new Mistake(`the link's ${name} is not of the form type:values`);
  if (!Object.hasOwn(table.types, type)) throw new Mistake(`the link's ${name} has the unknown type ${quoted(type)}`);
  if (shape === undefined) return readTensor(type, text);
  const sizes = readShape(shape);
  const { words } = /^\s*\[\s*\]\s*$/.test(text) ? { words: [] } : readNested(text);
  if (words.length !== countOf(sizes)) throw new Mistake(`the link's ${name} has other than ${countOf(sizes)} values`);
  return { type, shape: sizes, values: words.map((word) => readElement(type, word)) };
}

// The state that a fragment describes; throws a Mistake.
function stateOf(fragment) {
  const parts = new Map();
  for (const part of fragment.split("&").filter(Boolean)) {
    const [name, ...text] = part.split("=");
    parts.set(decoded(name), decoded(text.join("=")));
  }
  const row = ops.get(parts.get("op") ?? "");
  if (!row) throw new Mistake(`the link's operator ${quoted(parts.get("op") ?? "")} is not known`);
  parts.delete("op");
  const inputs = new Map();
  for (const { name, optional } of row.inputs) {
    if (!parts.has(name) && !optional) throw new Mistake(`the link lacks ${name}`);
    inputs.set(name, parts.has(name) ? tensorWritten(name, parts.get(name)) : null);
    parts.delete(name);
  }
  return { op: row.name, inputs, attributes: new Map([...parts].map(([name, text]) => [name, attributeWritten(text)])) };
}

// An attribute may have a type before it, as inputs have: axis=int64:0.
function attributeWritten(text) {
  return readAttribute(text.replace(/^int\d+:(?=-?\d+$)/, ""));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Mistake("the link is damaged: there is a % sign that stands for nothing");
  }
}
