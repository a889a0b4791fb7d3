// What an op version asks of types and attributes, in the order in which the library asks.

const ops = new Map(table.ops.map((row) => [row.name, row]));

function relatives(row) {
  return table.ops.filter((other) => other.domain === row.domain && other.op_type === row.op_type);
}

// All attributes of the version with their values; `given` is a Map.
function checkedAttributes(row, given) {
  const own = new Map(row.attributes.map((attribute) => [attribute.name, attribute]));
  const since = sinceWhen(row);
  for (const name of given.keys())
    if (!own.has(name) && !since.has(name)) throw unknownAttribute(row.name, name, own.keys());
  for (const { name, required } of row.attributes)
    if (required && !given.has(name)) throw missingAttribute(row.name, name);
  return () => {
    const values = {};
    for (const attribute of row.attributes)
      values[attribute.name] = given.has(attribute.name)
        ? attributeValue(row, attribute, given.get(attribute.name))
        : attribute.default;
    for (const name of given.keys()) if (!own.has(name)) throw newerAttribute(row.name, name, since.get(name));
    return values;
  };
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

function attributeValue(row, attribute, value) {
  const kind = typeof value;
  const readers = {
    int: () => (kind === "bigint" ? argument(value) : kind === "boolean" ? Number(value) : undefined),
    bool: () => (kind !== "string" && [0, 1].includes(Number(value)) ? Boolean(Number(value)) : undefined),
    string: () => (kind === "string" ? value : undefined),
  };
  const read = readers[attribute.type]();
  if (read === undefined) throw attributeType(row.name, attribute, value);
  if (attribute.choices && !attribute.choices.includes(read)) throw attributeChoice(row.name, attribute, read);
  return read;
}

// `tensors` are in the order of the version's inputs, an optional one that is absent null.
function checkTypes(row, tensors) {
  row.inputs.forEach(({ name, kind, optional }, i) => {
    if (!tensors[i] && !optional) throw missingInput(row.name, name);
    if (tensors[i] && kind !== "data" && !isIndexType(tensors[i].type)) throw notIntegers(row.name, name, tensors[i].type);
  });
  const first = row.inputs[0].name;
  row.inputs.forEach(({ name, kind }, i) => {
    if (!tensors[i] || kind === "axis") return;
    const { type } = tensors[i];
    const allowed = kind === "data" ? row.element_types : row.index_types;
    if (!allowed.includes(type)) throw refusedType(row.name, name, type, allowed);
    if (kind === "data" && type !== tensors[0].type) throw mixedTypes(row.name, name, type, first, tensors[0].type);
  });
}

// The types that NumPy itself counts as integers.
function isIndexType(type) {
  return table.index_types.includes(type);
}

// The reduction by the name that both specifications' names stand for.
function checkedReduction(row, values, type) {
  const named = values.reduction ?? "none";
  const reduction = table.reductions[named] ?? named;
  if (reduction !== "none" && !row.reducible[reduction].includes(type)) throw reductionFault(row.name, reduction, type);
  return reduction;
}

function axisOf(row, values, tensors) {
  const at = row.inputs.findIndex(({ kind }) => kind === "axis");
  if (at < 0) return values.axis ?? 0;
  const { shape, values: elements } = tensors[at];
  if (shape.length > 1 || elements.length !== 1) throw axisShape(row.name, shape);
  return argument(elements[0]);
}
