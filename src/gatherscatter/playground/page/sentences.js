// A step in words, and the shape rule with its numbers.

function sentenceOf(plan, number) {
  const group = plan.groups[number];
  if (plan.row.kernel === "gather_tree") return treeSentence(plan, group);
  return [indexPart(plan, group), plan.updates ? scatterPart(plan, group, number) : gatherPart(plan, group)].join(" ");
}

function nameOf({ row }, role) {
  if (role === "output") return row.output;
  if (row.kernel === "gather_tree") return row.inputs[role === "data" ? 0 : 1].name;
  const kind = role === "indices" ? "indices" : "data";
  const named = row.inputs.filter((input) => input.kind === kind);
  return named[role === "updates" ? 1 : 0].name;
}

// "indices[1] = [0, -1]: -1 counts from the end of axis 1, so it is 2."
function indexPart(plan, { at, position, inSlots }) {
  const { indices, axes, row } = plan;
  if (row.kernel === "tensor_scatter") return windowPart(plan, at, position, inSlots);
  const values = at.map((flat) => indices.values[flat]);
  const tuple = row.kernel.endsWith("nd");
  const place = tuple ? inSlots.slice(0, indices.shape.length - 1) : coordinatesOf(at[0], indices.shape);
  const shown = `${placeText("indices", place)} = ${tuple ? `[${values.join(", ")}]` : values[0]}`;
  const turned = values.flatMap((value, j) => {
    const axis = axes[j];
    if (position[j] === null) return [phrase("steps", "missing", { value, axis })];
    const from = { value, axis, size: plan.data.shape[axis], distance: -value, position: position[j] };
    return value < 0n ? [phrase("steps", "from_end", from)] : [];
  });
  return `${shown}${turned.length ? ` (${turned.join("; ")})` : ""}:`;
}

function windowPart({ axes, indices, data }, at, [position], inSlots) {
  const start = at.length ? indices.values[at[0]] : 0n;
  const offset = inSlots[axes[0]];
  const starts = at.length ? `write_indices[${at[0]}] = ${start}` : phrase("steps", "no_starts");
  const wraps = start + BigInt(offset) !== BigInt(position);
  const size = data.shape[axes[0]];
  return phrase("steps", wraps ? "window_in_ring" : "window", { starts, start, offset, size, position });
}

function partText(name, place, tensor) {
  const text = placeText(name, place);
  if (place.includes(ALL)) return text;
  return `${text} = ${wordText(tensor.type, tensor.values[flatOf(place, stridesOf(tensor.shape))])}`;
}

function outputPlace(plan, inSlots) {
  if (!plan.row.finish || plan.batchDims <= 1) return inSlots;
  const b = plan.batchDims;
  return [flatOf(inSlots.slice(0, b), stridesOf(plan.slots.slice(0, b))), ...inSlots.slice(b)];
}

function gatherPart(plan, { inData, inSlots, position }) {
  const target = placeText(plan.row.output, outputPlace(plan, inSlots));
  const { type } = plan.data;
  if (position.includes(null)) return phrase("steps", "filled", { target, value: wordText(type, zeroOf(type)) });
  return phrase("steps", "gathered", { source: partText("data", inData, plan.data), target });
}

const SIGNS = { add: "+", sub: "-", mul: "×" };

function scatterPart(plan, { inData, inSlots, moves }, number) {
  const { row, data, updates } = plan;
  const source = partText(nameOf(plan, "updates"), inSlots, { ...updates, shape: plan.slots });
  const target = placeText(row.output, inData);
  const reduction = plan.reduction ?? "none";
  const said = { source, target, verb: reduction === "none" ? "" : phrase("verbs", reduction) };
  if (moves.length !== 1) return phrase("steps", reduction === "none" ? "written" : "combined", said);
  const [from, to] = moves[0];
  const earlier = plan.groups.slice(0, number).some((group) => group.moves.some(([, other]) => other === to));
  const text = (value) => wordText(data.type, value);
  const value = text(resultOf(plan, number + 1).values[to]);
  if (reduction === "none") return phrase("steps", earlier ? "overwritten" : "written", said);
  if (!earlier && !plan.initial) return phrase("steps", "replaced", said);
  const [held, update] = [text(resultOf(plan, number).values[to]), text(updates.values[from])];
  if (reduction === "mean") return phrase("steps", "mean", { ...said, value });
  const terms = SIGNS[reduction] ? `${held} ${SIGNS[reduction]} ${bracketed(update)}` : `${reduction}(${held}, ${update})`;
  return phrase("steps", "combined_elements", { ...said, terms, value });
}

function bracketed(text) {
  return text.startsWith("-") ? `(${text})` : text;
}

function treeSentence({ tensors: [steps] }, { entry, beam, moves }) {
  if (!moves.length) return phrase("steps", "empty_beam", { entry, beam });
  const path = moves.map(([from]) => {
    const [t, , w] = coordinatesOf(from, steps.shape);
    return `step_ids[${t}, ${entry}, ${w}] = ${wordText(steps.type, steps.values[from])}`;
  });
  return phrase("steps", "beam", { entry, beam, path: path.join(phrase("steps", "then")) });
}

// The rule of the table, its terms replaced by numbers.
function shapeSentence(plan, shape) {
  const names = { axis: plan.axes[0], batch_dims: plan.batchDims, k: plan.axes.length };
  const given = new Map(plan.row.inputs.map(({ name }, i) => [name, plan.tensors[i]]));
  const number = (term) => term.split("+").reduce((sum, word) => sum + Number(names[word.trim()] ?? word), 0);
  const filled = plan.row.shape_rule.replace(/(\w+)\.shape(?:\[([^:\]]*):([^\]]*)\])?/g, (_, name, from, to) => {
    const bound = (text) => (text ? number(text) : undefined);
    return tupleText(given.get(name).shape.slice(bound(from) ?? 0, bound(to)));
  });
  const known = new Set([...filled.matchAll(/\(.*?\)/g)]).size;
  const result = known === 1 && filled === tupleText(shape) ? "" : ` = ${tupleText(shape)}`;
  return `${plan.row.output}.shape = ${plan.row.shape_rule} = ${filled}${result}`;
}
