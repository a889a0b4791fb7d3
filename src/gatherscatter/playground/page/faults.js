// The library's errors and their wording, each kind once.

// What the library would raise. `at` names the input or attribute; `bad` are flat positions of bad indices in it.
class Fault extends Error {
  constructor(kind, text, at, bad = []) {
    super(text);
    Object.assign(this, { kind, at, bad });
  }
}

function unknownAttribute(op, name, own) {
  const attributes = [...own].sort().join(", ") || "none";
  return new Fault("TypeError", `${op} has no attribute ${pythonText(name)} (attributes: ${attributes})`, name);
}

function newerAttribute(op, name, since) {
  return new Fault("ValueError", `${op} has no attribute ${pythonText(name)}; it came with version ${since}`, name);
}

function missingAttribute(op, name) {
  return new Fault("TypeError", `${op} needs the attribute ${pythonText(name)}`, name);
}

const PYTHON_TYPES = { bigint: "int", number: "float", boolean: "bool", string: "str" };

function attributeType(op, attribute, value) {
  const text = `${op}: ${attribute.name} must be of type ${attribute.type}, not ${PYTHON_TYPES[typeof value]}`;
  return new Fault("TypeError", text, attribute.name);
}

function attributeChoice(op, attribute, value) {
  const choices = attribute.choices.map(pythonText).join(", ");
  const text = `${op}: ${attribute.name} must be one of ${choices}, not ${shortened(value)}`;
  return new Fault("ValueError", text, attribute.name);
}

function missingInput(op, name) {
  return new Fault("TypeError", `${op}: the input ${name} is missing`, name);
}

function notIntegers(op, name, type) {
  return new Fault("TypeError", `${op}: ${name} must be integers, not ${dtypeOf(type)}`, name);
}

function refusedType(op, name, type, allowed) {
  return new Fault("TypeError", `${op}: ${name} can't be of type ${dtypeOf(type)}; allowed: ${allowed.join(", ")}`, name);
}

function mixedTypes(op, name, type, first, firstType) {
  const text = `${op}: ${name} is of type ${dtypeOf(type)}, but ${first} of type ${dtypeOf(firstType)}`;
  return new Fault("TypeError", text, name);
}

function reductionFault(op, reduction, type) {
  const text = `${op}: reduction ${pythonText(reduction)} is not defined for elements of type ${dtypeOf(type)}`;
  return new Fault("TypeError", text, "reduction");
}

function axisShape(op, shape) {
  return new Fault("ValueError", `${op}: axis must be a scalar or have one element, not shape ${tupleText(shape)}`, "axis");
}

// What two shapes of a single op version break: the wording of `gatherscatter.deviations`.
function pairFault(op, text, data, indices) {
  return new Fault("ValueError", `${op}: ${text} (data ${tupleText(data)}, indices ${tupleText(indices)})`, "indices");
}

// Shapes or attributes that don't fit together; `fault` is the name that the library's planner has for it.
function shapeFault(op, kernel, fault, { data, indices, updates, slots, axis, batchDims }) {
  const rank = data.length;
  const last = indices.length ? indices.at(-1) : 0;
  const given = updates ? tupleText(updates) : "";
  const wanted = slots ? tupleText(slots) : "";
  const way = updates && slots && canBroadcast(updates, slots) ? `: give np.broadcast_to(updates, ${wanted})` : "";
  const rule = kernel.endsWith("nd")
    ? `indices.shape[:-1] + data.shape[${batchDims + last}:]`
    : kernel.endsWith("elements")
      ? "indices.shape"
      : "data.shape[:axis] + indices.shape + data.shape[axis+1:]";
  const [at, text] = {
    data_rank: ["data", "data must have at least one dimension"],
    indices_rank: ["indices", "indices must have at least one dimension, which holds the index tuples"],
    same_rank: ["indices", `indices must have the rank of data (${rank}), not ${indices.length}`],
    axis: ["axis", `axis ${axis} is out of range for data of rank ${rank} (valid: ${-rank}..${rank - 1})`],
    batch_dims: [
      "batch_dims",
      `batch_dims ${batchDims} is out of range for data of rank ${rank} and indices of rank ${indices.length}`,
    ],
    batch_axis: ["batch_dims", `batch_dims ${batchDims} must not be greater than axis ${axis}`],
    batch_shape: ["indices", "data and indices must agree in their batch dimensions"],
    tuple_length: [
      "indices",
      `index tuples of length ${last} are longer than the ${rank - batchDims} dimensions of data that are left for them`,
    ],
    indices_shape: ["indices", `off axis ${axis}, no dimension of indices may be longer than that of data`],
    output_rank: ["indices", `the result would have more than 64 dimensions (${Math.max(indices.length - 1, 0)} from indices)`],
    updates_shape: [
      "updates",
      `updates has shape ${given}, but must have ${wanted} = ${rule}; nothing is broadcast${way}`,
    ],
  }[fault];
  const shapes = `data ${tupleText(data)}, indices ${tupleText(indices)}${updates ? `, updates ${given}` : ""}`;
  return new Fault("ValueError", `${op}: ${text} (${shapes})`, at);
}

function canBroadcast(shape, target) {
  const behind = target.slice(target.length - Math.min(shape.length, target.length));
  return shape.length <= target.length && shape.every((size, d) => size === 1 || size === behind[d]);
}

// Elements of `tensor` that are out of range, by their flat positions; `low` and `high` are what is allowed.
function indexFault(op, name, tensor, bad, { subject, low, high, hint = "" }) {
  const values = bad.map((flat) => tensor.values[flat]);
  const valid = low <= high ? `valid: ${low}..${high}` : "no index is valid";
  const where = placeText(name, coordinatesOf(bad[0], tensor.shape));
  let text = `${op}: ${where} = ${pythonNumber(values[0])} is out of range for ${subject} (${valid})`;
  if (bad.length > 1) {
    const [least, greatest] = [values.reduce(lesser), values.reduce(greater)];
    const spread = least === greatest ? `all ${least}` : `all in ${least}..${greatest}`;
    text += `; ${bad.length} of ${tensor.values.length} ${name} are out of range, ${spread}`;
  }
  return new Fault("IndexError", hint ? `${text}; ${hint}` : text, name, bad);
}

function cacheFault(op, at, text) {
  return new Fault("ValueError", `${op}: ${text}`, at);
}

// Values as Python writes them.

function pythonNumber(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Number.isInteger(value) ? (Object.is(value, -0) ? "-0.0" : `${value}.0`) : String(value);
}

const PYTHON_ESCAPES = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

function pythonText(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = text.replace(/[\x00-\x1f\x7f-\xa0\xad\\]/g, (letter) => {
    return PYTHON_ESCAPES[letter] ?? `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return quote + (quote === "'" ? inner.replaceAll("'", "\\'") : inner) + quote;
}

// A long text with its middle left out, as Python's reprlib writes it.
function shortened(text) {
  const letters = [...text];
  const [longest, before, behind] = [30, 13, 14];
  if (pythonText(letters.slice(0, longest).join("")).length <= longest) return pythonText(text);
  const ends = pythonText([...letters.slice(0, before), ...letters.slice(-behind)].join(""));
  return `${ends.slice(0, before)}...${ends.slice(-behind)}`;
}
