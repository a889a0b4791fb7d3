// Bags: rows of a table that are gathered and reduced to one row each. A plan has a group for each member, and one for
// each bag without members. `read` has the elements of other inputs that a group reads, by name and flat position. A
// move has the member's weight behind its two positions.

function planBags({ row, tensors, data, values, reduction }) {
  const { name: op } = row;
  const given = Object.fromEntries(row.inputs.map(({ name }, i) => [name, tensors[i]]));
  const { indices, offsets, per_sample_weights: weights, default_index: fallback } = given;
  if (data.shape.length === 0) throw faultOf("no_rows", { op, input: row.inputs[0].name });
  const members = indices ? indices.shape : data.shape.slice(0, 1);
  if (weights && reduction === "mean") throw faultOf("weighted_mean", { op });
  if (weights) checkMembers(op, "per_sample_weights", weights, members);
  const segments = given.num_segments ? scalarOf(op, "num_segments", given.num_segments) : null;
  const substitute = fallback ? scalarOf(op, "default_index", fallback) : -1;
  const starts = startsOf(op, given, members, segments);
  const subject = phrase("parts", "table_rows", { size: data.shape[0] });
  if (indices) checkRange(op, "indices", indices, data.shape[0], subject);
  if (substitute !== -1) checkRange(op, "default_index", { ...fallback, shape: [] }, data.shape[0], subject);
  const inner = data.shape.slice(1);
  const [count, width] = [countOf(members), countOf(inner)];
  checkSize(Math.max(starts.length, count) * Math.max(width, 1));
  const groups = [];
  const add = (bag, at, source, read, factor) => {
    const from = (i) => (source === null ? null : source * width + i);
    const moves = Array.from({ length: width }, (_, i) => [from(i), bag * width + i, factor]);
    groups.push({ at, position: [source], inData: [source, ...alls(inner)], inSlots: [bag, ...alls(inner)], read, moves });
  };
  starts.forEach((start, bag) => {
    const end = starts[bag + 1] ?? count;
    const begun = offsets ? [["offsets", bag]] : [];
    if (start === end) add(bag, [], substitute === -1 ? null : substitute, [...begun, ...(fallback ? [["default_index", 0]] : [])]);
    for (let m = start; m < end; m++) {
      const read = ["segment_ids", "per_sample_weights"].flatMap((name) => (indices && given[name] ? [[name, m]] : []));
      add(bag, [m], indices ? Number(indices.values[m]) : m, [...begun, ...read], weights?.values[m]);
    }
  });
  const fill = values.fill_mode === "LOWEST" ? lowestOf(data.type) : zeroOf(data.type);
  return { slots: [starts.length, ...inner], groups, fill, axes: [0], batchDims: 0 };
}

// Where each bag begins among the members. The last one ends with the last member.
function startsOf(op, { indices, offsets, segment_ids: ids }, members, segments) {
  if (!offsets && !ids) {
    if (members.length !== 2) throw faultOf("packed_rank", { op, shape: members });
    return Array.from({ length: members[0] }, (_, bag) => bag * members[1]);
  }
  if (indices) checkLine(op, "indices", indices);
  return offsets ? startsOfOffsets(op, offsets, members[0]) : startsOfSegments(op, ids, members, segments);
}

function startsOfOffsets(op, offsets, count) {
  checkLine(op, "offsets", offsets);
  checkRange(op, "offsets", offsets, count + 1, phrase("parts", "members", { size: count }));
  checkOrder(op, "offsets_order", "offsets", offsets);
  return offsets.values.map(Number);
}

function startsOfSegments(op, ids, members, segments) {
  checkLine(op, "segment_ids", ids);
  checkMembers(op, "segment_ids", ids, members);
  if (segments < 0) throw faultOf("num_segments", { op, value: BigInt(segments) });
  const count = segments ?? argument(ids.values.reduce(greater, -1n) + 1n);
  checkRange(op, "segment_ids", ids, count, phrase("parts", "segments", { size: count }));
  checkOrder(op, "segments_order", "segment_ids", ids);
  checkSize(count);
  const starts = [];
  ids.values.forEach((id, m) => {
    while (starts.length <= id) starts.push(m);
  });
  while (starts.length < count) starts.push(ids.values.length);
  return starts;
}

function checkLine(op, input, { shape }) {
  if (shape.length !== 1) throw faultOf("bags_rank", { op, input, shape });
}

function checkMembers(op, input, { shape }, members) {
  if (!sameShape(shape, members)) throw faultOf("members_shape", { op, input, shape, members, member: "member" });
}

// `name` is that of the error without its "_order".
function checkOrder(op, error, input, { values }) {
  const place = values.findIndex((value, i) => i > 0 && value < values[i - 1]);
  if (place > 0) throw faultOf(error, { op, input, place, value: values[place], before: values[place - 1] });
}
