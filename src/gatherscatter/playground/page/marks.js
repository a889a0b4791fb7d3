// The state of each cell of the picture, and the groups that touch it. `step` is the number of groups carried out.

// The states of cells in words, and the number of hues, as in other drawings of this package.
const { states: STATES, hues: HUES } = readData("drawing");
const PATTERNS = { again: "stripes", repeated: "stripes", reduced: "dots", filled: "hatch" };

// For each tensor a list by flat position: { groups, state }, and what the output holds by then.
function marksOf(plan, step) {
  const done = plan.groups.slice(0, step);
  const inputs = ["data", "indices", "updates", ...Object.keys(plan.beside ?? {})];
  const marks = Object.fromEntries([...inputs, "output"].map((role) => [role, new Map()]));
  const touch = (name, flat, group) => {
    if (!marks[name].has(flat)) marks[name].set(flat, { groups: [] });
    const { groups } = marks[name].get(flat);
    if (groups.at(-1) !== group) groups.push(group); // a group reads a byte once, whatever number of codes is in it
  };
  const source = plan.updates ? "updates" : "data";
  const isReduced = (plan.reduction ?? "none") !== "none";
  done.forEach((group, number) => {
    for (const flat of group.at) touch("indices", flat, number);
    for (const [name, flat] of group.read ?? []) if (marks[name]) touch(name, flat, number);
    for (const [from, to] of group.moves) {
      if (from !== null) touch(source, from, number);
      if (isReduced && plan.updates && plan.initial) touch("data", to, number);
      touch("output", to, number);
      if (from === null) marks.output.get(to).state = "filled";
    }
  });
  for (const mark of marks.output.values()) {
    const again = mark.groups.length > 1;
    mark.state ??= isReduced && (plan.updates || again) ? "reduced" : again ? "repeated" : "written";
  }
  // All members of a bag share its offset.
  for (const name of inputs)
    for (const mark of marks[name].values()) mark.state = mark.groups.length > 1 && name !== "offsets" ? "again" : "read";
  if (plan.row.kernel === "gather_tree") markTree(plan, marks, step);
  markNegatives(plan, marks);
  return marks;
}

function markNegatives({ row, indices }, marks) {
  if (row.kernel === "gather_tree" || !indices) return;
  for (const [flat, mark] of marks.indices) if (indices.values[flat] < 0n) mark.negative = true;
}

function markTree(plan, marks, step) {
  if (step < plan.groups.length) return;
  plan.tensors[0].values.forEach((_, flat) => {
    if (!marks.output.has(flat)) marks.output.set(flat, { groups: [], state: "filled" });
  });
}

// The marks of a call that is refused: the elements at fault.
function faultMarks(fault) {
  return new Map(fault.bad.map((flat) => [flat, { groups: [], state: "bad" }]));
}
