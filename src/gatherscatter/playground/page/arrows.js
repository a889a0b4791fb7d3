// Arrows of the picture: dotted from an index to the data that it names, from an update to there, and on to the output.
// They run where no text stands: between the tensors, and in the gaps between the rows of a matrix.

const MOST_ARROWS = 18;

function arrowsOf(plan, blocks, step, focus) {
  const shown = focus === undefined ? [...plan.groups.keys()].slice(0, step) : [focus];
  if (shown.length > MOST_ARROWS) return [];
  const taken = new Map();
  return shown.flatMap((number) => {
    const kind = `hue${number % HUES}${focus === undefined ? "" : " focus"}`;
    return linksOf(plan, plan.groups[number], blocks, focus !== undefined).map(([from, to]) => {
      const pointer = to[0] === "data" && from[0] === "indices" ? " pointer" : "";
      return arrow(endOf(blocks.get(from[0]), from[1]), endOf(blocks.get(to[0]), to[1]), kind + pointer, blocks, taken);
    });
  });
}

// Pairs of what arrows connect, each a role and flat positions.
function linksOf(plan, { at = [], moves }, blocks, all) {
  if (plan.row.kernel === "gather_tree") return treeLinks(moves);
  const real = moves.filter(([from]) => from !== null);
  const named = distinct(plan.updates ? moves.map(([, to]) => to) : real.map(([from]) => from));
  const links = [];
  if (at.length && named.length) links.push([["indices", at], ["data", isCompact(blocks.get("data").grid, named) ? named : named.slice(0, 1)]]);
  if (plan.updates) links.push(...pairs(blocks, "updates", "data", real, all));
  return [...links, ...pairs(blocks, "data", "output", plan.updates ? moves.map(([, to]) => [to, to]) : real, all)];
}

// Several codes of a byte move from one element.
function distinct(flats) {
  return [...new Set(flats)];
}

// The parent of each step names the token of the step before, which goes to the output.
function treeLinks(moves) {
  return moves.flatMap(([from, to], i) => [
    ...(i ? [[["indices", [moves[i - 1][0]]], ["data", [from]]]] : []),
    [["data", [from]], ["output", [to]]],
  ]);
}

// Between what arrows are drawn: whole slices where they are compact, else elements.
function pairs(blocks, source, target, moves, all) {
  if (!moves.length) return [];
  const [from, to] = [distinct(moves.map(([at]) => at)), moves.map(([, at]) => at)];
  if (isCompact(blocks.get(source).grid, from) && isCompact(blocks.get(target).grid, to)) return [[[source, from], [target, to]]];
  const drawn = all && moves.length <= MOST_ARROWS ? moves : moves.slice(0, 1);
  return drawn.map(([a, b]) => [[source, [a]], [target, [b]]]);
}

// An end of an arrow: the box of the cells, and the sides on which no other cell stands in the way.
function endOf(block, flats) {
  const box = around(block, flats);
  const whole = around(block, [...block.texts.keys()]);
  const near = (a, b) => Math.abs(a - b) < 1;
  return { ...box, block, isFirst: near(box.x, whole.x), isLast: near(box.x + box.width, whole.x + whole.width) };
}

const HEAD = 7; // length of an arrow's head
const LANE = 3; // between lines in a gap between rows

function arrow(from, to, kind, blocks, taken) {
  const count = (...place) => {
    const key = place.join();
    taken.set(key, (taken.get(key) ?? 0) + 1);
    return taken.get(key) - 1;
  };
  const [out, y1] = leave(from, blocks.vertical, count);
  const [into, y2, head] = enter(to, blocks.vertical, count);
  const [right, left] = blocks.vertical ? [blocks.right, blocks.right] : [from.block.right, to.block.left];
  const bend = blocks.vertical ? right + 16 + 5 * (count("bends") % 7) : (right + left) / 2;
  const path = `${out}H${right}C${bend},${y1} ${bend},${y2} ${left},${y2}${into}`;
  return s("g", { class: `arrow ${kind}` }, s("path", { class: "halo", d: path }), s("path", { class: "line", d: path }), s("path", { class: "head", d: head }));
}

// How far from the middle of an edge an arrow meets it.
const SHIFTS = [0, 5, -5, 10, -10];

// The first part of a path, and the height at which it goes on to the right.
function leave({ x, y, width, height, block, isLast }, vertical, count) {
  const shift = SHIFTS[count(vertical && isLast ? "right" : "leave", block.role, x, y) % SHIFTS.length];
  if (isLast) return [`M${x + width},${y + height / 2 + shift}`, y + height / 2 + shift];
  const lane = y + height + LANE * (1 + (count("below", block.role, y + height) % 3));
  return [`M${x + width / 2 + shift},${y + height}V${lane}`, lane];
}

// The last part of a path, the height at which it comes in, and the head.
function enter({ x, y, width, height, block, isFirst, isLast }, vertical, count) {
  const shift = SHIFTS[count(vertical && isLast ? "right" : "enter", block.role, x, y) % SHIFTS.length];
  const headOf = (tipX, tipY, dx, dy) =>
    `M${tipX},${tipY} L${tipX - dx * HEAD + dy * 3.5},${tipY - dy * HEAD + dx * 3.5} L${tipX - dx * HEAD - dy * 3.5},${tipY - dy * HEAD - dx * 3.5} z`;
  const middle = y + height / 2 + shift;
  if (vertical && isLast) return [`H${x + width + HEAD}`, middle, headOf(x + width, middle, -1, 0)];
  if (!vertical && isFirst) {
    const tip = block.tensor.shape.length > 1 ? x - RULER : x; // in front of the number of the row
    return [`H${tip - HEAD}`, middle, headOf(tip, middle, 1, 0)];
  }
  const lane = y - HEAD - LANE * (1 + (count("above", block.role, y) % 3));
  const drop = x + width / 2 + shift;
  return [`H${drop}V${y - HEAD}`, lane, headOf(drop, y, 0, 1)];
}
