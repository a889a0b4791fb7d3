// The picture: the tensors as grids, and arrows from each index to the data that it names and on to the output. Each
// index has a number and a colour. Signs and patterns say the same without colour.

const LETTER = 7.3; // width of a letter in a cell
const MOST_CELLS = 600;
const TITLE = 24;
const COLUMN_GAP = 64;
const ROW_GAP = 12;
const EDGE = 8;
const TURN = 40; // at the right of stacked tensors, where arrows turn
const [SMALLEST_SCALE, LARGEST_SCALE] = [0.75, 1.3];

// The tensors to draw, in columns from left to right: their roles.
function columnsOf(plan) {
  return [["indices", ...Object.keys(plan.beside ?? {}), "updates"], ["data"], ["output"]];
}

// The picture of a plan after `step` groups; `focus` is the group to show plainly, undefined for all of them.
function pictureOf(plan, step, focus, width) {
  const output = resultOf(plan, step);
  const marks = marksOf(plan, step);
  const tensors = { data: plan.data, indices: plan.indices, updates: plan.updates && shapedAs(plan.updates, plan.slots), ...plan.beside, output };
  const columns = columnsOf(plan).map((roles) => roles.filter((role) => tensors[role]));
  const stacked = plan.row.kernel === "gather_tree"; // time runs down
  const blocks = placed(columns, tensors, width, (role) => nameOf(plan, role), stacked);
  const pending = (role, flat) => role === "output" && !plan.updates && !marks.output.has(flat) && step < plan.groups.length;
  const drawn = [...blocks.values()].map((block) => {
    const negatives = block.role === "indices" ? meanings(plan) : new Map();
    return { block, cells: cellsOf(block, marks[block.role], focus, pending, negatives) };
  });
  const under = drawn.flatMap(({ block, cells }) => [
    batchFrames(plan, block),
    cells.map(({ ground }) => ground),
    block.role === "indices" ? tupleFrames(plan, block, focus) : [],
  ]);
  const over = drawn.flatMap(({ block, cells }) => [titleOf(block), cells.map(({ texts }) => texts)]);
  return canvas(blocks, [under, arrowsOf(plan, blocks, step, focus), over], plan, output, width);
}

// Which position each negative index means, by its place.
function meanings({ groups, row }) {
  if (row.kernel === "gather_tree" || row.kernel === "tensor_scatter") return new Map();
  return new Map(groups.flatMap(({ at, position }) => at.map((flat, j) => [flat, position[j]])));
}

function shapedAs(tensor, shape) {
  return { ...tensor, shape };
}

// The picture of inputs alone, where the call is refused.
function pictureOfInputs(row, tensors, fault, width) {
  const drawn = Object.fromEntries(row.inputs.flatMap(({ name }, i) => (tensors[i] ? [[name, tensors[i]]] : [])));
  const [data, ...others] = row.inputs;
  const inOrder = [...others.filter(({ kind }) => kind !== "data"), ...others.filter(({ kind }) => kind === "data")];
  const columns = [inOrder, [data]].map((inputs) => inputs.map(({ name }) => name).filter((name) => drawn[name]));
  const blocks = placed(columns.filter((names) => names.length), drawn, width, (name) => name);
  const parts = [...blocks.values()].flatMap((block) => {
    const atFault = block.role === fault?.at;
    const cells = cellsOf(block, atFault ? faultMarks(fault) : new Map(), undefined, () => false, new Map());
    return [titleOf(block, atFault), cells.map(({ ground, texts }) => [ground, texts])];
  });
  return canvas(blocks, parts, undefined, undefined, width);
}

function isDrawable(tensors) {
  return tensors.reduce((sum, tensor) => sum + (tensor ? tensor.values.length : 0), 0) <= MOST_CELLS;
}

// Columns side by side where there is room for them, else everything one below the other.
function placed(columns, tensors, width, title, stacked = false) {
  const share = stacked ? 0 : Math.max(width / Math.max(columns.length, 1) - COLUMN_GAP, 120);
  const narrow = layOut(columns, tensors, share, title);
  const wide = narrow.reduce((sum, column) => sum + column.width, 0) + COLUMN_GAP * (columns.length - 1) + 2 * EDGE;
  const blocks = new Map();
  if (wide <= width) {
    const height = Math.max(...narrow.map((column) => column.height));
    let x = EDGE;
    for (const column of narrow) {
      place(column, x, (height - column.height) / 2 + EDGE, blocks, column.width);
      x += column.width + COLUMN_GAP;
    }
    return blocks;
  }
  const column = layOut([columns.flat()], tensors, stacked ? 0 : width - 2 * EDGE - TURN, title)[0];
  place(column, EDGE, EDGE, blocks, column.width);
  blocks.vertical = true;
  blocks.right = EDGE + column.width + 4;
  return blocks;
}

function layOut(columns, tensors, maxWidth, title) {
  return columns.map((roles) => {
    const blocks = roles.map((role) => blockOf(role, tensors[role], title(role), maxWidth));
    const height = blocks.reduce((sum, block) => sum + block.height, 0) + ROW_GAP * (blocks.length - 1);
    return { blocks, height, width: Math.max(...blocks.map((block) => block.width)) };
  });
}

// `left` and `right` of a block are the borders of its column. Beyond them, arrows run freely.
function place(column, x, y, blocks, width) {
  for (const block of column.blocks) {
    blocks.set(block.role, Object.assign(block, { x, y, left: x - 8, right: x + width + 4 }));
    y += block.height + ROW_GAP;
  }
}

const LONGEST_WORD = 9;

function blockOf(role, tensor, name, maxWidth) {
  const texts = tensor.texts ?? tensor.values.map((element) => cellText(tensor.type, element));
  const letters = Math.max(2, ...texts.map((text) => text.length));
  const grid = gridOf(tensor.shape, Math.max(36, Math.ceil(letters * LETTER + 16)), maxWidth);
  const title = `${name} ${tupleText(tensor.shape)}`;
  const width = Math.max(grid.width, title.length * LETTER + 4);
  return { role, tensor, name, grid, texts, width, height: TITLE + Math.max(grid.height, CELL), vertical: false };
}

function cellText(type, element) {
  const text = familyOf(type) === "string" ? element : elementText(type, element).replace("Infinity", "∞");
  const shown = familyOf(type) === "float" && text.length > LONGEST_WORD ? shortFloat(element) : text;
  return shown.length > LONGEST_WORD + 3 ? `${shown.slice(0, LONGEST_WORD)}…` : shown;
}

function shortFloat(number) {
  return String(Number(number.toPrecision(5)));
}

function cellBox(block, flat) {
  const { x, y } = block.grid.cells[flat];
  return { x: block.x + x, y: block.y + TITLE + y, width: block.grid.cellWidth, height: CELL };
}

function around(block, flats) {
  const box = boxOf(block.grid, flats);
  return { ...box, x: box.x + block.x, y: box.y + block.y + TITLE };
}

function canvas(blocks, parts, plan, output, room) {
  const all = [...blocks.values()];
  const width = Math.ceil(Math.max(...all.map((block) => block.x + block.width)) + EDGE);
  const height = Math.ceil(Math.max(...all.map((block) => block.y + block.height)) + EDGE);
  const whole = width + (plan && blocks.vertical ? TURN : 0);
  const scale = Math.min(Math.max(room / whole, SMALLEST_SCALE), LARGEST_SCALE);
  const names = all.map(({ name, tensor }) => `${name} ${tupleText(tensor.shape)}`).join(", ");
  const label = plan ? `Picture of ${plan.row.name}: ${names}; ${plan.groups.length} indices move elements to ${plan.row.output} ${tupleText(output.shape)}.` : `Picture of the inputs: ${names}.`;
  return s("svg", { role: "img", "aria-label": label, viewBox: `0 0 ${whole} ${height}`, width: whole * scale, height: height * scale }, definitions(), parts);
}

function definitions() {
  const pattern = (id, size, ...shapes) => s("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse" }, ...shapes);
  return s("defs", null,
    pattern("stripes", 7, s("path", { d: "M-1,8 L8,-1 M-1,1 L1,-1 M6,8 L8,6", class: "ink" })),
    pattern("dots", 7, s("circle", { cx: 3.5, cy: 3.5, r: 1.1, class: "ink-dot" })),
    pattern("hatch", 8, s("path", { d: "M0,0 L8,8 M0,8 L8,0", class: "ink" })),
  );
}
