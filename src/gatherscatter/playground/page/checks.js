// The checks of types and attributes, in the order of the library.

const ops = new Map(table.ops.map((row) => [row.name, row]));

function relatives(row) {
  return table.ops.filter((other) => other.domain === row.domain && other.op_type === row.op_type);
}

// All attributes of the version with their values; `given` is a Map.
function checkedAttributes(row, given) {
  const own = new Map(row.attributes.map((attribute) => [attribute.name, attribute]));
  const since = sinceWhen(row);
  for (const name of given.keys())
    if (!own.has(name) && !since.has(name)) {
      const attributes = [...own.keys()].sort().join(", ") || "none";
      throw faultOf("unknown_attribute", { op: row.name, input: name, attributes, suggestion: suggest(name, [...own.keys()]) });
    }
  for (const { name, required } of row.attributes)
    if (required && !given.has(name)) throw faultOf("missing_attribute", { op: row.name, input: name });
  return () => {
    const values = {};
    for (const attribute of row.attributes)
      values[attribute.name] = given.has(attribute.name)
        ? attributeValue(row, attribute, given.get(attribute.name))
        : attribute.default;
    for (const name of given.keys())
      if (!own.has(name)) throw faultOf("newer_attribute", { op: row.name, input: name, version: since.get(name) });
    return values;
  };
}

// The end of an error about a word that is not among the choices; empty if none of them means the same.
function suggest(word, choices) {
  const groups = table.sentences.same_meaning.words.filter((words) => words.includes(word.toLowerCase()));
  const [same] = groups.flat().filter((each) => choices.includes(each));
  return same ? phrase("parts", "did_you_mean", { names: pythonText(same) }) : "";
}

// The attributes of an operator, and the version that each came with.
function sinceWhen(row) {
  const versions = new Map();
  for (const other of relatives(row))
    for (const { name } of other.attributes) if (!versions.has(name)) versions.set(name, other.version);
  return versions;
}

const INT64 = [-(1n << 63n), (1n << 63n) - 1n];

// An integer argument as a Number; a large one, which is out of any range, stays a BigInt of 64 bits.
function argument(integer) {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : lesser(greater(integer, INT64[0]), INT64[1]);
}

function attributeValue(row, { name, type, choices }, value) {
  const at = { op: row.name, input: name };
  const kind = typeof value;
  const readers = {
    int: () => (kind === "bigint" ? argument(value) : kind === "boolean" ? Number(value) : undefined),
    bool: () => (kind !== "string" && [0, 1].includes(Number(value)) ? Boolean(Number(value)) : undefined),
    string: () => (kind === "string" ? value : undefined),
  };
  const read = readers[type]();
  if (read === undefined) throw faultOf("attribute_type", { ...at, type, given: PYTHON_TYPES[kind] });
  if (choices && !choices.includes(read)) {
    const listed = choices.map(pythonText).join(", ");
    const suggestion = suggest(read, choices);
    throw faultOf("choice", { ...at, raises: "ValueError", choices: listed, value: shortened(read), suggestion });
  }
  return read;
}

// The end of the error about indices of another type.
function adviseIntegers(name, { type, shape, values }) {
  if (type === "bool") return phrase("parts", name.startsWith("indices") ? "mask" : "whole_numbers", { input: name });
  const isText = type === "string";
  if (!values.length || !(isText || ["float16", "float32", "float64"].includes(type))) return "";
  const odd = values.findIndex((value) => !(isText ? isIntegerText(value) : Number.isInteger(value)));
  if (odd < 0) return phrase("parts", "whole_numbers", { input: name });
  const value = isText ? shortened(values[odd]) : pythonNumber(values[odd]);
  return phrase("parts", "element", { place: placeText(name, coordinatesOf(odd, shape)), value });
}

// Whether a text is an integer of at most 64 bits for Python.
function isIntegerText(text) {
  const digits = text.trim().replace(/(?<=\d)_(?=\d)/g, "");
  return INTEGER.test(digits) && BigInt(digits) >= -(2n ** 63n) && BigInt(digits) < 2n ** 64n;
}

// `tensors` are in the order of the version's inputs, an optional one that is absent null.
function checkTypes(row, tensors) {
  row.inputs.forEach(({ name, kind, optional }, i) => {
    const at = { op: row.name, input: name };
    if (!tensors[i] && !optional) throw faultOf("missing_input", at);
    if (tensors[i] && !isNumeric(kind) && !isIndexType(tensors[i].type))
      throw faultOf("not_integers", { ...at, type: dtypeOf(tensors[i].type) + adviseIntegers(name, tensors[i]) });
  });
  const given = new Map(row.inputs.map(({ name }, i) => [name, tensors[i]]));
  row.inputs.forEach(({ name, kind }, i) => {
    if (!tensors[i] || kind === "axis") return;
    const { type } = tensors[i];
    const allowed = typesOf(row, kind);
    const at = { op: row.name, input: name, type: dtypeOf(type) };
    if (!allowed.includes(type)) {
      const converted = !isNumeric(kind) && allowed.includes("int64");
      const advice = converted ? phrase("parts", "convert_indices", { input: name, kernel: row.kernel }) : "";
      throw faultOf("refused_type", { ...at, allowed: allowed.join(", "), advice });
    }
    const first = leaderOf(row, kind);
    const leader = given.get(first);
    if (leader && type !== leader.type) throw faultOf("mixed_types", { ...at, first, first_type: dtypeOf(leader.type) });
  });
}

// Whether an input of a kind holds numbers of a table, not indices or other integers.
function isNumeric(kind) {
  return kind === "data" || kind === "scales";
}

// The types that a version accepts for an input of a kind.
function typesOf(row, kind) {
  return { data: row.element_types, scales: table.scale_types, axis: table.index_types }[kind] ?? row.index_types;
}

// The input whose type all inputs of a kind have, where the version has it.
function leaderOf(row, kind) {
  return { data: row.inputs[0].name, indices: "indices", scalar: "indices" }[kind];
}

// The types that NumPy itself counts as integers.
function isIndexType(type) {
  return table.index_types.includes(type);
}

// The reduction by the name that both specifications' names stand for.
function checkedReduction(row, values, type) {
  const named = values.reduction ?? row.reduction ?? "none";
  const reduction = table.reductions[named] ?? named;
  if (reduction !== "none" && !row.reducible[reduction].includes(type))
    throw faultOf("reduction", { op: row.name, reduction, type: dtypeOf(type) });
  return reduction;
}

function axisOf(row, values, tensors) {
  const at = row.inputs.findIndex(({ kind }) => kind === "axis");
  if (at < 0) return values.axis ?? 0;
  return scalarOf(row.name, "axis", tensors[at]);
}

// The only element of an input that holds an integer.
function scalarOf(op, input, { shape, values }) {
  if (shape.length > 1 || values.length !== 1) throw faultOf("scalar_shape", { op, input, shape });
  return argument(values[0]);
}
