// Where the cells of a tensor are drawn: matrices of the last two dimensions, side by side or one below the other.

const CELL = 30; // height
const LANES = 18; // between rows, where arrows run
const GAP = 18; // between matrices
const CAPTION = 15; // above a matrix that is one of several
const RULER = 16; // for the numbers of rows and columns

// { width, height, cells: [{ x, y }] by flat position, captions, rulers }.
function gridOf(shape, cellWidth, maxWidth) {
  const [rows, columns] = [shape.length > 1 ? shape.at(-2) : 1, shape.length ? shape.at(-1) : 1];
  const leading = shape.slice(0, -2);
  const grid = { width: 0, height: 0, cellWidth, cells: [], captions: [], rulers: [] };
  if (countOf(shape) === 0) return grid;
  const matrix = { width: RULER + columns * cellWidth, height: RULER + LANES + rows * (CELL + LANES), rows, columns };
  const several = countOf(leading) > 1 || leading.length > 0;
  const across = leading.length ? leading.at(-1) : 1;
  const perLine = Math.max(1, Math.min(across, Math.floor((maxWidth + GAP) / (matrix.width + GAP))));
  let count = 0;
  for (const place of placesOf(leading)) {
    const line = Math.floor(count / across) * Math.ceil(across / perLine) + Math.floor((count % across) / perLine);
    const x = ((count % across) % perLine) * (matrix.width + GAP);
    const y = line * (matrix.height + GAP + CAPTION);
    addMatrix(grid, matrix, x, y + (several ? CAPTION : 0), shape.length);
    if (several) grid.captions.push({ x, y: y + 11, text: `[${[...place, ALL, ALL].join(", ")}]` });
    count += 1;
  }
  return grid;
}

function addMatrix(grid, { width, height, rows, columns }, x, y, rank) {
  for (let i = 0; i < rows; i++) {
    const top = y + RULER + LANES + i * (CELL + LANES);
    if (rank > 1) grid.rulers.push({ x: x + RULER - 5, y: top + CELL / 2 + 3, text: i, end: true });
    for (let j = 0; j < columns; j++) grid.cells.push({ x: x + RULER + j * grid.cellWidth, y: top });
  }
  for (let j = 0; rank > 0 && j < columns; j++)
    grid.rulers.push({ x: x + RULER + (j + 0.5) * grid.cellWidth, y: y + RULER - 5, text: j });
  grid.width = Math.max(grid.width, x + width);
  grid.height = Math.max(grid.height, y + height);
}

// The least box around cells.
function boxOf(grid, flats) {
  const cells = flats.map((flat) => grid.cells[flat]);
  const xs = cells.map(({ x }) => x);
  const ys = cells.map(({ y }) => y);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x + grid.cellWidth, height: Math.max(...ys) - y + CELL };
}

// Whether cells fill their box, so that one arrow can stand for all of them.
function isCompact(grid, flats) {
  const { width, height } = boxOf(grid, flats);
  return (width / grid.cellWidth) * ((height + LANES) / (CELL + LANES)) <= flats.length + 0.01;
}

// Flat positions of a place in which ALL stands for every coordinate.
function flatsAt(place, shape) {
  const sizes = place.map((coordinate, d) => (coordinate === ALL ? shape[d] : 1));
  const strides = stridesOf(shape);
  const flats = [];
  for (const offset of placesOf(sizes)) flats.push(flatOf(place.map((at, d) => (at === ALL ? 0 : at) + offset[d]), strides));
  return flats;
}
