// Block-quantized tables: codes of a few bits, and a scale for each block of them along one axis. A byte of uint8 holds
// several codes. A group reads whole bytes, and the scales and zero points of its codes. A move has its number behind its
// two positions: the code less the zero point, times the scale.

function planQuantized({ row, tensors: [data, indices, scales, zeros], values }) {
  const { name: op } = row;
  checkQuantization(op, data, scales, values);
  const rank = data.shape.length;
  const [axis, along] = [values.gather_axis, values.quantize_axis].map((given) => (given < 0 ? given + rank : given));
  if (zeros && !isInteger(data.type)) throw faultOf("float_zero_points", { op });
  if (rank + indices.shape.length - 1 > MAX_RANK)
    throw faultOf("output_rank", { op, tuple_rank: indices.shape.length, shapes: shapesText(data.shape, indices.shape) });
  const perByte = codesPerByte(data.type, values.bits);
  const numbers = data.shape.with(-1, data.shape.at(-1) * perByte);
  const block = Number(values.block_size) || Math.max(numbers[along], 1);
  checkBlocks(op, scales, numbers, along, block);
  const packed = packedShape(scales.shape, perByte);
  if (zeros && !sameShape(zeros.shape, packed))
    throw faultOf("zero_points_shape", { op, shape: zeros.shape, wanted: packed, data: scales.shape });
  checkSize(countOf(numbers));
  const plan = planGather({ row, data: { shape: numbers }, indices, axis, batchDims: 0 });
  const blocks = { along, block, zero: middleCode(data.type, values.bits) };
  const scaleStrides = stridesOf(scales.shape);
  const zeroStrides = stridesOf(packed.with(-1, packed.at(-1) * perByte));
  const numberMoved = (read, [from, to]) => {
    if (from === null) return [from, to];
    const place = blockPlace(blocks, scales, coordinatesOf(from, numbers));
    const [scaleAt, zeroAt] = [flatOf(place, scaleStrides), flatOf(place, zeroStrides)];
    read.push(["scales", scaleAt]);
    if (zeros) read.push(["zero_points", Math.floor(zeroAt / perByte)]);
    const value = codeAt(data, from, perByte) - (zeros ? codeAt(zeros, zeroAt, perByte) : blocks.zero);
    return [Math.floor(from / perByte), to, combined("mul", scales.type, value, scales.values[scaleAt])];
  };
  const groups = plan.groups.map((group) => {
    const read = [];
    return { ...group, moves: group.moves.map((each) => numberMoved(read, each)), read };
  });
  const beside = { scales, ...(zeros ? { zero_points: withCodes(zeros, perByte) } : {}) };
  return { ...plan, groups, blocks, numbers, data: withCodes(data, perByte), beside };
}

// The rules of the operator for types, attributes and shared scales.
function checkQuantization(op, { type, shape }, scales, { gather_axis, quantize_axis, block_size, bits }) {
  const rank = shape.length;
  if (rank === 0) throw faultOf("no_rows", { op, input: "data" });
  for (const [input, axis] of Object.entries({ gather_axis, quantize_axis }))
    if (!(-rank <= axis && axis < rank)) throw faultOf("quantized_axis", { op, input, axis, rank, shape });
  const hasFloats = !isInteger(type);
  if (!isBlockSize(BigInt(block_size)) && !(hasFloats && block_size === 0))
    throw faultOf("block_size_power", { op, value: block_size, type });
  const allowed = type === "uint8" ? [2, 4, 8] : [4];
  if (!hasFloats && !allowed.includes(bits))
    throw faultOf("bits_of_type", { op, value: bits, type, bits: type === "uint8" ? "2, 4 or 8" : "4" });
  const isFirst = (axis) => axis === 0 || axis === -rank;
  if (type === "uint8" && (!isFirst(gather_axis) || isFirst(quantize_axis)))
    throw faultOf("axes_of_bytes", { op, gather_axis, quantize_axis });
  if (hasFloats || scales.shape.length !== rank) return;
  const along = (quantize_axis + rank) % rank;
  const axis = shape.findIndex((size, d) => d !== along && scales.shape[d] === 1 && size !== 1);
  if (axis >= 0) throw faultOf("shared_scales", { op, shape: scales.shape, axis, type });
}

function isBlockSize(size) {
  return size >= 16n && (size & (size - 1n)) === 0n;
}

// Each block has a scale. Along other axes, all positions can share one.
function checkBlocks(op, { shape }, numbers, along, block) {
  const wanted = numbers.with(along, Math.ceil(numbers[along] / block));
  const fits = shape.length === wanted.length && wanted.every((size, d) => shape[d] === size || (shape[d] === 1 && d !== along));
  if (!fits) throw faultOf("scales_shape", { op, shape, wanted, data: numbers });
}

function codesPerByte(type, bits) {
  return type === "uint8" ? 8 / bits : 1;
}

// The shape of codes that are packed along the last axis, as data is.
function packedShape(shape, perByte) {
  return shape.length ? shape.with(-1, Math.ceil(shape.at(-1) / perByte)) : shape;
}

// The zero point of a table without zero points.
function middleCode(type, bits) {
  return type === "uint8" ? 2 ** (bits - 1) : 0;
}

// A code as a number. A byte holds codes from the lowest bits on.
function codeAt({ values }, at, perByte) {
  const element = Number(values[Math.floor(at / perByte)]);
  const bits = 8 / perByte;
  return perByte === 1 ? element : (element >> ((at % perByte) * bits)) & (2 ** bits - 1);
}

// A tensor whose bytes are drawn as codes, the first one at the left.
function withCodes(tensor, perByte) {
  if (perByte === 1) return tensor;
  const codes = (at) => Array.from({ length: perByte }, (_, i) => codeAt(tensor, at * perByte + i, perByte));
  return { ...tensor, texts: tensor.values.map((_, at) => codes(at).join(" ")) };
}

// Where the scale or zero point of a number is. ALL stands for every coordinate in both.
function blockPlace({ along, block }, { shape }, place) {
  return place.map((at, d) => (shape[d] === 1 ? 0 : d !== along || at === ALL ? at : Math.floor(at / block)));
}

// Zero points that leave the numbers as they are without them.
function neutralZeroPoints({ type }, scales, bits) {
  const perByte = codesPerByte(type, bits);
  const codes = new Array(perByte).fill(middleCode(type, bits));
  const byte = codes.reduce((sum, code, i) => sum + code * 2 ** (i * bits), 0);
  const shape = packedShape(scales.shape, perByte);
  return { type, shape, values: new Array(countOf(shape)).fill(readElement(type, String(byte))) };
}
