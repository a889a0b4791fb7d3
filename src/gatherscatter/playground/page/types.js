// Element types. Integers are BigInt, floats Number, complex numbers { re, im }, the rest as in JSON. What is known of a
// type (bits, largest value, what infinity becomes in it) is in the table.

const table = readData("table");
const NAN = /^[+-]?nan$/i;
const INFINITE = /^([+-]?)inf(inity)?$/i;
const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const COMPLEX = /^(.*[^e])?([+-](?:[\d.]+(?:e[+-]?\d+)?|inf|nan)?)j$/i;

function familyOf(type) {
  return table.types[type].family;
}

function isInteger(type) {
  return familyOf(type) === "integer";
}

// How the library's messages call a type.
function dtypeOf(type) {
  return table.types[type].dtype;
}

// The float of a type that is nearest to a number, ties to even.
function rounded(type, number) {
  const format = table.types[type];
  if (format.digits === 53) return number;
  if (format.digits === 24) return Math.fround(number);
  const special = (text) => (text === undefined ? number : Number(text));
  if (Number.isNaN(number)) return special(format.nan);
  if (number === 0) return special(Object.is(number, -0) ? format.negativeZero : format.zero);
  if (number < 0 && format.unsigned) return NaN;
  const size = Math.abs(number);
  const unit = Math.max(format.least, 2 ** (exponentOf(size) - format.digits + 1));
  const result = Math.max(evenly(size / unit) * unit, format.unsigned ? format.least : 0);
  const signed = number < 0 ? -result : result;
  if (result > format.max) return number < 0 ? special(format.negativeInfinity) : special(format.infinity);
  return signed === 0 ? special(Object.is(signed, -0) ? format.negativeZero : format.zero) : signed;
}

function exponentOf(size) {
  const guess = Math.min(Math.floor(Math.log2(size)), 1023);
  return 2 ** guess > size ? guess - 1 : 2 ** (guess + 1) <= size ? guess + 1 : guess;
}

function evenly(number) {
  const down = Math.floor(number);
  const rest = number - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
}

// An integer modulo 2 to the bits of its type.
function wrapped(type, integer) {
  const { bits, signed } = table.types[type];
  return signed ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer);
}

// The type in which the parts of a complex number are.
function partType(type) {
  return table.types[type].part;
}

function zeroOf(type) {
  return { integer: 0n, float: 0, bool: false, string: "", complex: { re: 0, im: 0 } }[familyOf(type)];
}

// The lowest finite number of a type.
function lowestOf(type) {
  const { family, max, bits, signed } = table.types[type];
  return { integer: () => (signed ? -(1n << BigInt(bits - 1)) : 0n), float: () => -max, bool: () => false }[family]();
}

// The element that a word of the text means; throws a Mistake when it means none.
function readElement(type, word) {
  const family = familyOf(type);
  if (family === "string") return word;
  const text = word.trim();
  const element = { integer: readInteger, float: readFloat, bool: readBool, complex: readComplex }[family](type, text);
  if (element === undefined) throw new Mistake(`${quoted(word)} is no ${type}`);
  return element;
}

function readInteger(type, text) {
  if (/^(true|false)$/i.test(text)) return /^t/i.test(text) ? 1n : 0n;
  const whole = text.replace(/\.0*$/, "");
  if (!INTEGER.test(whole)) return undefined;
  const integer = BigInt(whole.replace(/^\+/, ""));
  if (wrapped(type, integer) !== integer) throw new Mistake(`${integer} does not fit in ${type}`);
  return integer;
}

function readFloat(type, text) {
  const number = readNumber(text);
  return number === undefined ? undefined : rounded(type, number);
}

function readNumber(text) {
  if (NAN.test(text)) return NaN;
  const infinite = INFINITE.exec(text);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  if (/^(true|false)$/i.test(text)) return /^t/i.test(text) ? 1 : 0;
  return DECIMAL.test(text) ? Number(text) : undefined;
}

function readBool(type, text) {
  if (/^(true|1|1\.0*)$/i.test(text)) return true;
  return /^(false|0|0\.0*)$/i.test(text) ? false : undefined;
}

function readComplex(type, text) {
  const real = readNumber(text);
  if (real !== undefined) return { re: rounded(partType(type), real), im: 0 };
  const [, re = "0", im] = COMPLEX.exec(text) ?? COMPLEX.exec(`+${text}`) ?? [];
  if (im === undefined) return undefined;
  const parts = [re.replace(/^\+$/, "0"), /^[+-]$/.test(im) ? `${im}1` : im].map(readNumber);
  if (parts.includes(undefined)) return undefined;
  return { re: rounded(partType(type), parts[0]), im: rounded(partType(type), parts[1]) };
}

// The shortest text that reads back as the same element.
function elementText(type, element) {
  const family = familyOf(type);
  if (family === "float") return floatText(type, element);
  if (family !== "complex") return String(element);
  const [re, im] = [element.re, element.im].map((part) => floatText(partType(type), part));
  return `${re}${/^[-+]/.test(im) ? "" : "+"}${im.replace("Infinity", "inf").replace("NaN", "nan")}j`.replace("Infinity", "inf");
}

function floatText(type, number) {
  if (Object.is(number, -0)) return "-0";
  if (!Number.isFinite(number) || Number.isInteger(number) || table.types[type].unsigned) return String(number);
  for (let digits = 1; digits < 17; digits++) {
    const shorter = Number(number.toPrecision(digits));
    if (rounded(type, shorter) === number) return String(shorter);
  }
  return String(number);
}

function sameElement(a, b) {
  return typeof a === "object" ? sameElement(a.re, b.re) && sameElement(a.im, b.im) : Object.is(a, b);
}
