// A step in words, and the shape rule with its numbers.

function sentenceOf(plan, number) {
  const group = plan.groups[number];
  if (plan.row.kernel === "gather_tree") return treeSentence(plan, group);
  if (plan.row.kernel === "gather_reduce") return bagSentence(plan, group, number);
  return [indexPart(plan, group), plan.updates ? scatterPart(plan, group, number) : gatherPart(plan, group)].join(" ");
}

function nameOf({ row }, role) {
  if (role === "output") return row.output;
  if (row.inputs.some(({ name }) => name === role)) return role;
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

function gatherPart(plan, { inData, inSlots, position, moves }) {
  const target = placeText(plan.row.output, outputPlace(plan, inSlots));
  if (position.includes(null)) return phrase("steps", "filled", { target, value: wordText(plan.type, plan.fill) });
  return phrase("steps", "gathered", { source: sourceText(plan, inData, moves), target });
}

// "data[1, 0] = 7", with a weight "emb_table[1, :] × 0.5", or of a quantized table "(data[1, :] - 8) × scales[1, :]".
function sourceText(plan, inData, moves) {
  const [name, factor] = [nameOf(plan, "data"), moves[0]?.[2]];
  if (factor === undefined) return partText(name, inData, plan.data);
  const product = moves.length === 1 ? ` = ${wordText(plan.type, elementMoved(plan, moves[0]))}` : "";
  const factors = plan.blocks ? numberFactors(plan, inData) : [placeText(name, inData), bracketed(wordText(plan.type, factor))];
  return `${factors.join(` ${SIGNS.mul} `)}${product}`;
}

function numberFactors({ blocks, beside: { scales, zero_points: zeros } }, inData) {
  const text = (name, tensor) => placeText(name, blockPlace(blocks, tensor, inData));
  const [code, zero] = [placeText("data", inData), zeros ? text("zero_points", zeros) : blocks.zero];
  return [zero ? `(${code} - ${zero})` : code, text("scales", scales)];
}

const SIGNS = { add: "+", sub: "-", mul: "×" };

function scatterPart(plan, group, number) {
  const { row, updates, reduction = "none" } = plan;
  const { inData, inSlots, moves } = group;
  const source = partText(nameOf(plan, "updates"), inSlots, { ...updates, shape: plan.slots });
  const said = { source, target: placeText(row.output, inData) };
  const earlier = moves.length === 1 && isReached(plan, group, number);
  if (reduction === "none") return phrase("steps", earlier ? "overwritten" : "written", said);
  if (moves.length === 1 && !earlier && !plan.initial) return phrase("steps", "replaced", said);
  return combinedPart(plan, said, moves, number);
}

// Whether an earlier group went to the same places.
function isReached(plan, { moves }, number) {
  return plan.groups.slice(0, number).some((group) => group.moves.some(([, to]) => to === moves[0]?.[1]));
}

function combinedPart(plan, { source, target }, moves, number) {
  const { data, reduction } = plan;
  const said = { source, target, verb: phrase("verbs", reduction) };
  if (moves.length !== 1) return phrase("steps", "combined", said);
  const text = (value) => wordText(data.type, value);
  const [held, value] = [number, number + 1].map((step) => text(resultOf(plan, step).values[moves[0][1]]));
  if (reduction === "mean") return phrase("steps", "mean", { ...said, value });
  const update = text(elementMoved(plan, moves[0]));
  const terms = SIGNS[reduction] ? `${held} ${SIGNS[reduction]} ${bracketed(update)}` : `${reduction}(${held}, ${update})`;
  return phrase("steps", "combined_elements", { ...said, terms, value });
}

// "indices[2] = 4, per_sample_weights[2] = 0.5: emb_table[4, :] × 0.5 is added to output[1, :]."
function bagSentence(plan, group, number) {
  const { row, tensors } = plan;
  const { at, inData, inSlots, read, moves } = group;
  const places = [...at.map((flat) => [nameOf(plan, "indices"), flat]), ...read];
  const shown = places.map(([name, flat]) => {
    const tensor = tensors[row.inputs.findIndex((input) => input.name === name)];
    return partText(name, coordinatesOf(flat, tensor.shape), tensor);
  });
  const said = { source: sourceText(plan, inData, moves), target: placeText(row.output, inSlots) };
  const action = isReached(plan, group, number) ? combinedPart(plan, said, moves, number) : gatherPart(plan, group);
  return shown.length ? `${shown.join(", ")}: ${action}` : action;
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

// The rule of the table, its terms replaced by numbers. The meaning of a term can stand behind a rule.
function shapeSentence(plan, shape) {
  const names = { axis: plan.axes[0], gather_axis: plan.axes[0], batch_dims: plan.batchDims, k: plan.axes.length };
  const shapes = new Map(plan.row.inputs.map(({ name }, i) => [`${name}.shape`, plan.tensors[i]?.shape]));
  shapes.set("table", plan.numbers);
  const [rule, meaning = ""] = plan.row.shape_rule.split(/(?=, where )/);
  const number = (term) => term.split("+").reduce((sum, word) => sum + Number(names[word.trim()] ?? word), 0);
  const filled = rule.replace(/(\w+\.shape|table)(?:\[([^:\]]*):([^\]]*)\])?/g, (_, name, from, to) => {
    const bound = (text) => (text ? number(text) : undefined);
    return tupleText(shapes.get(name).slice(bound(from) ?? 0, bound(to)));
  });
  const counted = filled.replace(/^\(num_segments.*?,\)/, tupleText(shape.slice(0, 1)));
  const known = new Set([...counted.matchAll(/\(.*?\)/g)]).size;
  const result = known === 1 && counted === tupleText(shape) ? "" : ` = ${tupleText(shape)}`;
  return `${plan.row.output}.shape = ${rule} = ${counted}${result}${meaning}`;
}
