// The kernels: each finds out what moves where. A plan has the shape of the result and, in the order of the indices,
// groups: one for each index or index tuple. A group has the flat positions of its indices (`at`), the positions on the
// axes that they mean (`position`), where that is in data and in the slots (`inData`, `inSlots`, ALL for a whole axis),
// and its moves: pairs of flat positions [from, to]. Slots are the elements of updates, or of the result of a gather.

const MAX_RANK = 64;
const ALL = ":";

function alls(dims) {
  return dims.map(() => ALL);
}

// A plan, or a Fault. `call`: { row, data, indices, updates, axis, batchDims }.
const KERNELS = {
  gather: planGather,
  gather_elements: planElements,
  gather_nd: planTuples,
  scatter_update: planGather,
  scatter_elements: planElements,
  scatter_nd: planTuples,
};

function misfit(call, name, slots) {
  const { row, data, indices, updates, axis, batchDims } = call;
  const shapes = { data: data.shape, indices: indices.shape, updates: updates?.shape };
  return shapeFault(row.name, row.kernel, name, { ...shapes, slots, axis, batchDims });
}

function checkUpdates(call, slots) {
  if (slots.length > MAX_RANK) throw misfit(call, "output_rank");
  if (call.updates && !sameShape(call.updates.shape, slots)) throw misfit(call, "updates_shape", slots);
  checkSize(countOf(slots));
}

const LARGEST = 100_000;

function checkSize(count) {
  if (count > LARGEST) throw new Mistake(`${count} elements would be moved; this page moves ${LARGEST} at most`);
}

function normalAxis(call) {
  const rank = call.data.shape.length;
  if (rank < 1) throw misfit(call, "data_rank");
  return -rank <= call.axis && call.axis < rank ? call.axis + (call.axis < 0 ? rank : 0) : undefined;
}

// Flat positions of the data where an update would be written or an element read, and those of the slots: a scatter
// moves from slots to data, a gather from data to slots.
function move(call, group, dataAt, slotAt) {
  group.moves.push(call.updates ? [slotAt, dataAt] : [dataAt, slotAt]);
}

function planGather(call) {
  const { data, indices } = call;
  const axis = normalAxis(call);
  if (axis === undefined) throw misfit(call, "axis");
  const rank = data.shape.length;
  const b = call.batchDims < 0 ? Number(call.batchDims) + indices.shape.length : call.batchDims;
  if (b < 0 || b > Math.min(rank, indices.shape.length)) throw misfit(call, "batch_dims");
  if (b > axis) throw misfit(call, "batch_axis");
  if (!sameShape(data.shape.slice(0, b), indices.shape.slice(0, b))) throw misfit(call, "batch_shape");
  const inner = data.shape.slice(axis + 1);
  const slots = [...data.shape.slice(0, axis), ...indices.shape.slice(b), ...inner];
  checkUpdates(call, slots);
  const positions = resolved(call, [axis]);
  const [dataStrides, slotStrides] = [stridesOf(data.shape), stridesOf(slots)];
  const outer = data.shape.slice(b, axis);
  const groups = [];
  let flat = 0;
  for (const place of placesOf(indices.shape)) {
    const batch = place.slice(0, b);
    const position = positions[flat];
    const inData = [...batch, ...alls(outer), position, ...alls(inner)];
    const inSlots = [...batch, ...alls(outer), ...place.slice(b), ...alls(inner)];
    const group = { at: [flat], position: [position], inData, inSlots, moves: [] };
    for (const others of placesOf([...outer, ...inner])) {
      const [before, after] = [others.slice(0, outer.length), others.slice(outer.length)];
      const slot = flatOf([...batch, ...before, ...place.slice(b), ...after], slotStrides);
      const source = [...batch, ...before, position, ...after];
      move(call, group, position === null ? null : flatOf(source, dataStrides), slot);
    }
    groups.push(group);
    flat += 1;
  }
  return { slots, groups, axes: [axis], batchDims: b };
}

function planElements(call) {
  const { data, indices } = call;
  if (data.shape.length < 1) throw misfit(call, "data_rank");
  if (indices.shape.length !== data.shape.length) throw misfit(call, "same_rank");
  const axis = normalAxis(call);
  if (axis === undefined) throw misfit(call, "axis");
  if (data.shape.some((size, d) => d !== axis && indices.shape[d] > size))
    throw misfit(call, "indices_shape");
  checkUpdates(call, indices.shape);
  const positions = resolved(call, [axis]);
  const strides = stridesOf(data.shape);
  const groups = [];
  for (const place of placesOf(indices.shape)) {
    const flat = groups.length;
    const inData = place.with(axis, positions[flat]);
    const group = { at: [flat], position: [positions[flat]], inData, inSlots: [...place], moves: [] };
    move(call, group, flatOf(inData, strides), flat);
    groups.push(group);
  }
  return { slots: indices.shape, groups, axes: [axis], batchDims: 0 };
}

function planTuples(call) {
  const { data, indices, batchDims } = call;
  const [rank, tuples] = [data.shape.length, indices.shape.length - 1];
  if (rank < 1) throw misfit(call, "data_rank");
  if (tuples < 0) throw misfit(call, "indices_rank");
  if (batchDims < 0 || batchDims >= Math.min(rank, tuples + 1)) throw misfit(call, "batch_dims");
  const b = batchDims;
  if (!sameShape(data.shape.slice(0, b), indices.shape.slice(0, b))) throw misfit(call, "batch_shape");
  const k = indices.shape[tuples];
  if (k > rank - b) throw misfit(call, "tuple_length");
  const inner = data.shape.slice(b + k);
  const slots = [...indices.shape.slice(0, -1), ...inner];
  checkUpdates(call, slots);
  checkSize(countOf(indices.shape.slice(0, -1))); // tuples of length 0 are not written down anywhere
  const axes = Array.from({ length: k }, (_, j) => b + j);
  const positions = resolved(call, axes);
  const width = countOf(inner);
  const strides = stridesOf(data.shape);
  const groups = [];
  for (const place of placesOf(indices.shape.slice(0, -1))) {
    const first = groups.length * k;
    const at = Array.from({ length: k }, (_, j) => first + j);
    const position = at.map((flat) => positions[flat]);
    const target = [...place.slice(0, b), ...position];
    const rest = alls(inner);
    const group = { at, position, inData: [...target, ...rest], inSlots: [...place, ...rest], moves: [] };
    const source = flatOf(target, strides);
    for (let i = 0; i < width; i++) move(call, group, source + i, groups.length * width + i);
    groups.push(group);
  }
  return { slots, groups, axes, batchDims: b };
}

// The position that each index means, null where it is out of range and means zeros; column j of the indices goes into
// axes[j]. All are looked at before anything moves.
function resolved(call, axes) {
  const { row, data, indices } = call;
  const sizes = axes.map((axis) => BigInt(data.shape[axis]));
  const negative = row.index_range !== "nonnegative";
  const bad = [];
  const positions = indices.values.map((index, flat) => {
    const size = sizes[flat % sizes.length];
    const position = index < 0n && negative ? index + size : index;
    if (position >= 0n && position < size) return Number(position);
    bad.push(flat);
    return null;
  });
  if (bad.length === 0 || row.index_range === "zeros") return positions;
  const columns = axes.map((_, j) => indices.values.filter((_, flat) => flat % axes.length === j));
  const axis = axes[bad[0] % axes.length];
  const size = data.shape[axis];
  throw indexFault(row.name, "indices", indices, bad, {
    subject: phrase("parts", "axis", { axis, size }),
    low: negative ? -size : 0,
    high: size - 1,
    hint: hintFor(columns, axes, data.shape, negative, indices.type, mayBeBatched(call, axes)),
  });
}

// Whether the index tuples would also be index tuples for one batch dimension.
function mayBeBatched({ row, data, indices, batchDims }, axes) {
  if (row.kernel !== "gather_nd" || batchDims !== 0 || indices.shape.length < 2) return false;
  return indices.shape[0] === data.shape[0] && axes.length < data.shape.length;
}

// A window of every batch entry, written into a cache.
function planCache({ row, data: past, updates: update, indices: window, axis: given, mode }) {
  const { name: op } = row;
  const rank = past.shape.length;
  if (rank < 2) throw faultOf("cache_rank", { op, rank });
  const axis = given < 0 ? Number(given) + rank : given;
  if (!(axis > 0 && axis < rank)) throw faultOf("cache_axis", { op, axis: given, rank, low: 1 - rank, high: rank - 1 });
  const fits = past.shape.length === update.shape.length && past.shape.every((size, d) =>
    d === axis ? update.shape[d] <= size : update.shape[d] === size,
  );
  if (!fits) throw faultOf("cache_update", { op, axis, past: past.shape, update: update.shape });
  const batch = past.shape.slice(0, 1);
  if (window && !sameShape(window.shape, batch)) throw faultOf("cache_starts", { op, batch, starts: window.shape });
  const [size, length] = [past.shape[axis], update.shape[axis]];
  const starts = window?.values ?? new Array(batch[0]).fill(0n);
  const last = size - length;
  if (window && mode === "linear") checkRange(op, "write_indices", window, last + 1, phrase("parts", "window", { length, size }));
  checkSize(past.values.length);
  checkSize(batch[0] * length);
  const strides = stridesOf(past.shape);
  const groups = [];
  for (const [n, t] of placesOf([batch[0], length])) {
    const position = mode === "linear" ? Number(starts[n]) + t : floorModulo(starts[n] + BigInt(t), BigInt(size));
    const whole = [n, ...alls(past.shape.slice(1))];
    const at = window ? [n] : [];
    groups.push({ at, position: [position], inData: whole.with(axis, position), inSlots: whole.with(axis, t), moves: [] });
  }
  let flat = 0;
  for (const place of placesOf(update.shape)) {
    const group = groups[place[0] * length + place[axis]];
    group.moves.push([flat, flatOf(place.with(axis, group.position[0]), strides)]);
    flat += 1;
  }
  return { slots: update.shape, groups, axes: [axis], batchDims: 1 };
}

// Refuse elements that are not in 0..size-1.
function checkRange(op, name, tensor, size, subject) {
  const bad = [...tensor.values.keys()].filter((flat) => !(0n <= tensor.values[flat] && tensor.values[flat] < size));
  if (bad.length) throw indexFault(op, name, tensor, bad, { subject, low: 0n, high: BigInt(size) - 1n });
}

function floorModulo(integer, size) {
  return Number(((integer % size) + size) % size);
}

// The sequences of a beam search, read from their ends: a group for each beam.
function planTree({ row, tensors: [steps, parents, lengths, end] }) {
  const { name: op } = row;
  checkTreeShapes(op, steps.shape, parents.shape, lengths.shape, end.shape);
  checkSize(steps.values.length);
  const [time, batches, beams] = steps.shape;
  const groups = [];
  const plan = { slots: steps.shape, groups, fill: end.values[0], axes: [2], batchDims: 0 };
  if (steps.values.length === 0) return plan;
  for (let n = 0; n < batches; n++) {
    const length = sequenceLength(lengths.values[n], time);
    const paths = Array.from({ length: beams }, (_, w) => ({ at: [], position: [], entry: n, beam: w, now: w, moves: [] }));
    for (let t = length - 1; t >= 0; t--)
      for (const path of paths) {
        const from = (t * batches + n) * beams + path.now;
        path.moves.unshift([from, (t * batches + n) * beams + path.beam]);
        if (t === 0) continue;
        path.at.unshift(from);
        path.now = beamOf(op, parents, from, beams);
        path.position.unshift(path.now);
      }
    for (const path of paths) {
      const ended = path.moves.findIndex(([from]) => steps.values[from] === end.values[0]);
      if (ended >= 0) path.moves.length = ended + 1; // what stands behind is the end token, too
    }
    groups.push(...paths);
  }
  return plan;
}

function sequenceLength(length, time) {
  const number = Number(length);
  return number > 0 ? Math.min(Math.trunc(number), time) : 0;
}

function beamOf(op, parents, flat, beams) {
  const number = Number(parents.values[flat]);
  if (number >= 0 && number < beams) return Math.trunc(number);
  const subject = phrase("parts", "beams", { beams });
  throw indexFault(op, "parent_ids", parents, [flat], { subject, low: 0, high: beams - 1 });
}

function checkTreeShapes(op, steps, parents, lengths, end) {
  const batch = steps.slice(1, 2);
  if (steps.length !== 3) throw faultOf("tree_steps", { op, steps });
  if (!sameShape(parents, steps)) throw faultOf("tree_parents", { op, steps, parents });
  if (!sameShape(lengths, batch)) throw faultOf("tree_lengths", { op, batch, lengths });
  if (end.length) throw faultOf("tree_end", { op, end });
}
