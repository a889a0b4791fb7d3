// What is probably meant by indices that are out of range; said only when the numbers leave no other reading.

// A hint for tuples whose column j goes into axes[j] of data; empty when nothing is certain.
function hintFor(columns, axes, shape, negative, type, mayBeBatched) {
  const sizes = axes.map((axis) => BigInt(shape[axis]));
  const ranges = columns.map((column) => ({ low: column.reduce(lesser), high: column.reduce(greater) }));
  return (
    refusedNegatives(ranges, sizes, negative) ||
    (mayBeBatched && forgottenBatchDims(ranges, axes, shape)) ||
    countedFromOne(ranges, sizes) ||
    overflowed(ranges, sizes, type) ||
    swappedColumns(ranges, sizes) ||
    wrongAxis(ranges, axes, shape)
  );
}

const lesser = (a, b) => (b < a ? b : a);
const greater = (a, b) => (b > a ? b : a);

function listed(sizes) {
  return new Set(sizes).size > 1 ? sizes.join(", ") : String(sizes[0]);
}

function fits({ low, high }, size) {
  return -size <= low && high < size;
}

function refusedNegatives(ranges, sizes, negative) {
  const all = ranges.every((range, j) => fits(range, sizes[j]));
  if (negative || !all || !ranges.some(({ low }) => low < 0n)) return "";
  return phrase("hints", "refused_negatives", { sizes: listed(sizes) });
}

function forgottenBatchDims(ranges, axes, shape) {
  if (!ranges.every((range, j) => fits(range, BigInt(shape[axes[j] + 1])))) return "";
  return phrase("hints", "forgotten_batch_dims", { size: shape[0] });
}

function countedFromOne(ranges, sizes) {
  if (!ranges.every(({ low, high }, j) => low >= 1n && high <= sizes[j])) return "";
  return phrase("hints", "counted_from_one", { sizes: listed(sizes) });
}

// A negative number stored without a sign, or a number shifted by 2^32.
function overflowed(ranges, sizes, type) {
  const { bits, signed } = table.types[type];
  const span = 1n << BigInt(bits);
  for (const [j, { high }] of ranges.entries()) {
    const size = sizes[j];
    // A narrow type has too few values for one of them to tell, but for the commonest negative number.
    if (!signed && (bits >= 32 ? -size <= high - span && high - span < 0n : high === span - 1n))
      return phrase("hints", "unsigned", { value: high, meant: high - span, type });
    const shifted = high - (1n << 32n);
    if (size <= 1n << 31n && -size <= shifted && shifted < size)
      return phrase("hints", "overflow", { value: high, rest: `${shifted < 0n ? "" : "+"}${shifted}` });
  }
  return "";
}

function swappedColumns(ranges, sizes) {
  for (let i = 0; i < sizes.length; i++)
    for (let j = i + 1; j < sizes.length; j++) {
      const swapped = sizes.with(i, sizes[j]).with(j, sizes[i]);
      if (ranges.every((range, column) => fits(range, swapped[column])))
        return phrase("hints", "swapped_columns", { i, j });
    }
  return "";
}

// Values along one axis that reach exactly to the end of exactly one other.
function wrongAxis(ranges, axes, shape) {
  if (axes.length !== 1) return "";
  const [{ low, high }] = ranges;
  const exact = [...shape.keys()].filter((axis) => axis !== axes[0] && low >= 0n && high === BigInt(shape[axis] - 1));
  return exact.length === 1 ? phrase("hints", "wrong_axis", { axis: exact[0] }) : "";
}
