// A call of an op version: checks, plan, result. `call` is { row, tensors, attributes }: tensors in the order of the
// version's inputs, attributes a Map.

function evaluate({ row, tensors, attributes }) {
  const valuesOf = checkedAttributes(row, attributes);
  checkTypes(row, tensors);
  const values = valuesOf();
  const { type } = typingTensor(row, tensors);
  const given = { ...roles(row, tensors), row, tensors, values, type, fill: zeroOf(type), warning: deprecation(row) };
  if (row.kernel === "gather_tree") return { ...given, ...planTree(given) };
  if (row.kernel === "tensor_scatter") {
    const call = { ...given, axis: values.axis, mode: values.mode };
    return { ...call, ...planCache(call) };
  }
  if (row.kernel === "gather_quantized") return { ...given, ...planQuantized(given) };
  const reducing = { ...given, reduction: checkedReduction(row, values, type), wide: row.wide.includes(type) };
  if (row.kernel === "gather_reduce") return { ...reducing, ...planBags(reducing) };
  const call = {
    ...reducing,
    axis: axisOf(row, values, tensors),
    batchDims: values.batch_dims ?? 0,
    initial: values.use_init_val ?? true,
  };
  Object.assign(call, prepared(call));
  return { ...call, ...KERNELS[row.kernel](call) };
}

// The input that has the type of the result.
function typingTensor(row, tensors) {
  const scales = row.inputs.findIndex(({ kind }) => kind === "scales");
  return tensors[Math.max(scales, 0)];
}

// The inputs by their roles. Versions have different names for them.
function roles(row, tensors) {
  if (row.kernel === "gather_tree") return { data: tensors[0], indices: tensors[1], updates: undefined };
  if (["gather_reduce", "gather_quantized"].includes(row.kernel)) return rolesBeside(row, tensors);
  const [first, ...others] = row.inputs.map((input, i) => ({ ...input, tensor: tensors[i] }));
  return {
    data: first.tensor,
    indices: others.find(({ kind }) => kind === "indices").tensor,
    updates: others.find(({ kind }) => kind === "data")?.tensor,
  };
}

// The inputs by what they are for, and by name those that the picture shows `beside` them. Segment ids stand for the
// indices of an operator that has none: they name rows of the output.
function rolesBeside(row, [data, indices, ...others]) {
  const rest = row.inputs.slice(2).map(({ name, kind }, i) => ({ name, kind, tensor: others[i] }));
  const beside = rest.filter(({ kind, tensor }) => tensor && kind !== "scalar").map(({ name, tensor }) => [name, tensor]);
  return { data, indices, beside: Object.fromEntries(beside), updates: undefined };
}

function deprecation(row) {
  return row.deprecated ? phrase("parts", "deprecated", { op: row.name, domain: row.domain }) : "";
}

// What single versions demand, by the names that the table has for it.
const PREPARE = {
  equal_off_axis({ row, data, indices }, axis) {
    if (data.shape.length !== indices.shape.length) return {};
    if (data.shape.every((size, d) => d === axis || size === indices.shape[d])) return {};
    const advice = adviseOffAxis(data.shape, indices.shape, axis);
    throw faultOf("equal_off_axis", { op: row.name, axis, advice, shapes: shapesText(data.shape, indices.shape) });
  },
  no_longer_along_axis({ row, data, indices }, axis) {
    if (data.shape.length !== indices.shape.length || indices.shape.length === 0) return {};
    if (indices.shape[axis] <= data.shape[axis]) return {};
    throw faultOf("no_longer_along_axis", { op: row.name, axis, shapes: shapesText(data.shape, indices.shape) });
  },
  one_element_updates({ data, indices, updates }) {
    const whole = indices.shape.length === 1 && indices.shape[0] === data.shape.length;
    return whole && updates.values.length === 1 ? { updates: { ...updates, shape: [] } } : {};
  },
};

function prepared(call) {
  const rank = call.data.shape.length;
  if (!call.row.prepare || !(-rank <= call.axis && call.axis < rank)) return {};
  return PREPARE[call.row.prepare](call, (call.axis + rank) % rank);
}

const FINISH = {
  fuse_batch_dims({ batchDims }, shape) {
    return batchDims <= 1 ? shape : [countOf(shape.slice(0, batchDims)), ...shape.slice(batchDims)];
  },
};

// The result, or what it is after the first groups only: what no group has reached is what it was, or not there yet.
function resultOf(plan, groups = plan.groups.length) {
  const moves = plan.groups.slice(0, groups).flatMap((group) => group.moves);
  const { type } = plan;
  if (plan.updates) return { type, shape: plan.data.shape, values: reduced(plan, moves, [...plan.data.values]) };
  const values = reduced(plan, moves, new Array(countOf(plan.slots)).fill(plan.fill));
  const finish = FINISH[plan.row.finish];
  return { type, shape: finish ? finish(plan, plan.slots) : plan.slots, values };
}

// All moves to each place folded in order. Without a reduction, the last one stays.
function reduced(plan, moves, values) {
  const { data, reduction = "none", initial, wide } = plan;
  for (const [place, sources] of contributions(moves)) {
    const parts = sources.map((move) => elementMoved(plan, move));
    if (initial && reduction !== "none") parts.unshift(values[place]);
    values[place] = folded(reduction, data.type, parts, wide);
  }
  return values;
}

// What a move brings to its place: an element, times its weight if it has one, or the number of a code.
function elementMoved({ blocks, data, updates, fill }, [from, , factor]) {
  if (from === null) return fill;
  if (blocks) return factor;
  const element = (updates ?? data).values[from];
  return factor === undefined ? element : combined("mul", data.type, element, factor);
}

// For each place that is written: which moves go there, in order.
function contributions(moves) {
  const found = new Map();
  for (const move of moves) {
    const [, to] = move;
    if (!found.has(to)) found.set(to, []);
    found.get(to).push(move);
  }
  return found;
}
