// Arrows of the picture: from each group's elements to where they go, and dotted from its index to what it points at.

const MOST_ARROWS = 18;

function arrowsOf(plan, blocks, step, focus) {
  const shown = focus === undefined ? [...plan.groups.keys()].slice(0, step) : [focus];
  if (shown.length > MOST_ARROWS) return [];
  if (plan.row.kernel === "gather_tree") return shown.flatMap((number) => pathOf(plan.groups[number], number, blocks, focus));
  const source = blocks.get(plan.updates ? "updates" : "data");
  const [output, indices] = [blocks.get("output"), blocks.get("indices")];
  const { pointsAt = plan.updates ? "output" : "data" } = plan; // whose places the indices name
  return shown.flatMap((number) => {
    const { moves, at } = plan.groups[number];
    const kind = `hue${number % HUES}${focus === undefined ? "" : " focus"}`;
    const real = moves.filter(([from]) => from !== null);
    const arrows = pairs(source, output, real, focus !== undefined).map(([from, to]) => arrow(from, to, kind, blocks.vertical));
    const [block, flats] = pointsAt === "output" ? [output, moves.map(([, to]) => to)] : [source, real.map(([from]) => from)];
    if (at.length && flats.length)
      arrows.push(arrow(end(indices, at), end(block, isCompact(block.grid, flats) ? flats : flats.slice(0, 1)), `${kind} pointer`, blocks.vertical));
    return arrows;
  });
}

// The way of a beam through step_ids, from its last step back to the first.
function pathOf({ moves }, number, blocks, focus) {
  const steps = blocks.get("data");
  const kind = `hue${number % HUES}${focus === undefined ? "" : " focus"}`;
  return moves.slice(1).map(([from], i) => {
    const [later, earlier] = [end(steps, [from]), end(steps, [moves[i][0]])];
    return link({ ...later, side: "top" }, { ...earlier, side: "bottom" }, kind);
  });
}

// Between what arrows are drawn: whole slices where they are compact, else elements.
function pairs(source, output, moves, all) {
  if (!moves.length) return [];
  const [from, to] = [moves.map(([at]) => at), moves.map(([, at]) => at)];
  if (isCompact(source.grid, from) && isCompact(output.grid, to)) return [[end(source, from), end(output, to)]];
  const drawn = all && moves.length <= MOST_ARROWS ? moves : moves.slice(0, 1);
  return drawn.map(([a, b]) => [end(source, [a]), end(output, [b])]);
}

// An end of an arrow: the box of the cells, and the sides on which no other cell stands in the way.
function end(block, flats) {
  const box = around(block, flats);
  const whole = around(block, [...block.texts.keys()]);
  const near = (a, b) => Math.abs(a - b) < 1;
  return {
    ...box,
    left: near(box.x, whole.x),
    right: near(box.x + box.width, whole.x + whole.width),
    top: near(box.y, whole.y),
    bottom: near(box.y + box.height, whole.y + whole.height),
  };
}

const SIDES = { left: [-1, 0], right: [1, 0], top: [0, -1], bottom: [0, 1] };

function arrow(from, to, kind, vertical) {
  const below = to.y + to.height / 2 >= from.y + from.height / 2;
  const [exits, entries] = vertical
    ? [["bottom", "right", "left"], ["top", "right", "left"]]
    : [["right", below ? "bottom" : "top"], ["left", below ? "top" : "bottom", below ? "bottom" : "top"]];
  const side = exits.find((each) => from[each]) ?? exits[0];
  const entry = entries.find((each) => to[each]) ?? entries[0];
  return link({ ...from, side }, { ...to, side: entry }, kind);
}

// A curve from a side of one box to a side of another.
function link(from, to, kind) {
  const [x1, y1] = port(from, 0);
  const [x2, y2] = port(to, HEAD);
  const bend = Math.min(Math.max(18, Math.hypot(x2 - x1, y2 - y1) / 2.4), 110);
  const [[ax, ay], [bx, by]] = [SIDES[from.side], SIDES[to.side]];
  const path = `M${x1},${y1} C${x1 + ax * bend},${y1 + ay * bend} ${x2 + bx * bend},${y2 + by * bend} ${x2},${y2}`;
  return s("g", { class: `arrow ${kind}` }, s("path", { class: "halo", d: path }), s("path", { class: "line", d: path }), s("path", { class: "head", d: headOf(to, bx, by) }));
}

const HEAD = 7; // length of an arrow's head

function headOf(to, bx, by) {
  const [tipX, tipY] = port(to, 0);
  const corner = (turn) => `${tipX + bx * HEAD + turn * by * 3.5},${tipY + by * HEAD + turn * bx * 3.5}`;
  return `M${tipX},${tipY} L${corner(1)} L${corner(-1)} z`;
}

function port({ x, y, width, height, side }, gap) {
  const [dx, dy] = SIDES[side];
  return [x + (width / 2) * (1 + dx) + dx * gap, y + (height / 2) * (1 + dy) + dy * gap];
}

