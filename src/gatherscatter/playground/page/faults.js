// The library's errors: the sentences that it formats in Python, and here.

// What the library would raise. `at` names the input or attribute; `bad` are flat positions of bad indices in it.
class Fault extends Error {
  constructor(kind, text, at, bad = []) {
    super(text);
    Object.assign(this, { kind, at, bad });
  }
}

function faultOf(name, values, bad = []) {
  const { raises, text, input } = table.sentences.errors[name];
  return new Fault(formatted(raises, values), formatted(text, values), formatted(input, values), bad);
}

function phrase(section, name, values = {}) {
  return formatted(table.sentences[section][name], values);
}

// A text whose {name} is replaced by a value, and {name!r} by a value as Python writes it.
function formatted(text, values) {
  return text.replace(/\{(\w+)(!r)?\}/g, (_, name, quoted) => {
    const value = values[name];
    if (quoted) return typeof value === "string" ? pythonText(value) : pythonNumber(value);
    return Array.isArray(value) ? tupleText(value) : String(value);
  });
}

const PYTHON_TYPES = { bigint: "int", number: "float", boolean: "bool", string: "str" };

// Shapes or attributes that don't fit together; `name` is the name that the library's planner has for it.
function shapeFault(op, kernel, name, { data, indices, updates, slots, axis, batchDims }) {
  const rank = data.length;
  const k = indices.length ? indices.at(-1) : 0;
  const rule = kernel.endsWith("nd") ? "rule_nd" : kernel.endsWith("elements") ? "rule_elements" : "rule_axis";
  const batch = batchDims < 0 ? batchDims + indices.length : batchDims;
  const advice =
    name === "updates_shape" && updates && slots && canBroadcast(updates, slots)
      ? phrase("parts", "broadcast", { slots })
      : kernel.endsWith("nd") && isOneTuple(name, indices, updates, slots, batchDims)
        ? phrase("parts", "one_tuple", { k })
        : name === "tuple_length" && indices.length === 2 && batchDims === 0 && indices[0] === rank
          ? phrase("parts", "transposed")
          : name === "same_rank" || name === "indices_shape"
            ? adviseOffAxis(data, indices, axis, updates)
            : "";
  return faultOf(name, {
    op, rank, axis, k, updates, slots,
    shapes: shapesText(data, indices, updates),
    index_rank: indices.length,
    tuple_rank: Math.max(indices.length - 1, 0),
    low: -rank,
    high: rank - 1,
    batch_dims: batchDims,
    data_batch: data.slice(0, batch),
    index_batch: indices.slice(0, batch),
    rule: phrase("parts", rule, { first: batchDims + k }),
    advice,
  });
}

// The end of an error about indices for single elements whose shape differs from data's off the axis.
function adviseOffAxis(data, indices, given, updates) {
  const rank = data.length;
  if (given < -rank || given >= rank) return "";
  const axis = given < 0 ? given + rank : given;
  if (sameShape(indices, data.filter((_, d) => d !== axis))) {
    const key = axis === rank - 1 ? "[..., None]" : `[${":, ".repeat(axis)}None]`;
    const place = updates && sameShape(updates, indices) ? `indices${key} and updates${key}` : `indices${key}`;
    return phrase("parts", "dropped_axis", { axis, place });
  }
  if (indices.length > rank) return "";
  const padded = [...Array(rank - indices.length).fill(1), ...indices];
  let shape = data.map((size, d) => (d === axis ? padded[d] : size));
  if (canBroadcast(padded, shape)) return phrase("parts", "broadcast_indices", { shape });
  shape = padded.map((size, d) => (d === axis ? data[d] : size));
  return updates || !canBroadcast(data, shape) ? "" : phrase("parts", "broadcast_data", { shape });
}

// Whether single indices were given where index tuples are wanted, so that all of them form one tuple.
function isOneTuple(name, indices, updates, slots, batchDims) {
  if (indices.length !== 1 || batchDims !== 0) return false;
  if (name === "tuple_length") return true;
  return Boolean(updates?.length) && (updates[0] === indices[0] || (slots?.length === 0 && updates[0] > 1));
}

function shapesText(data, indices, updates) {
  return phrase("parts", updates ? "scatter_shapes" : "gather_shapes", { data, indices, updates });
}

function canBroadcast(shape, target) {
  const behind = target.slice(target.length - Math.min(shape.length, target.length));
  return shape.length <= target.length && shape.every((size, d) => size === 1 || size === behind[d]);
}

// Elements of `tensor` that are out of range, by their flat positions; `low` and `high` are what is allowed.
function indexFault(op, name, tensor, bad, { subject, low, high, hint = "" }) {
  const values = bad.map((flat) => tensor.values[flat]);
  const [least, greatest] = [values.reduce(lesser), values.reduce(greater)];
  const spread = phrase("parts", least === greatest ? "all_equal" : "all_between", { low: least, high: greatest });
  const facts = {
    op, subject, spread,
    input: name,
    place: placeText(name, coordinatesOf(bad[0], tensor.shape)),
    value: pythonNumber(values[0]),
    valid: phrase("parts", low <= high ? "valid" : "none_valid", { low, high }),
    count: bad.length,
    total: tensor.values.length,
    hint: hint && `; ${hint}`,
  };
  return faultOf(bad.length > 1 ? "indices" : "index", facts, bad);
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
