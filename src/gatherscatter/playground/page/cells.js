// What the picture draws of one tensor: its title, cells and frames.

function titleOf(block, atFault) {
  const { x, y, name, tensor, grid, texts } = block;
  const parts = [
    s("text", { class: atFault ? "title wrong" : "title", x: x + 1, y: y + 13 }, s("tspan", { class: "name" }, name), ` ${tupleText(tensor.shape)}`),
  ];
  if (!texts.length) parts.push(s("text", { class: "ruler", x: x + 1, y: y + TITLE + 16 }, "no elements"));
  const marks = [...grid.captions, ...grid.rulers];
  for (const { x: dx, y: dy, text, end } of marks)
    parts.push(s("text", { class: typeof text === "number" ? (end ? "ruler end" : "ruler middle") : "ruler", x: x + dx, y: y + TITLE + dy }, String(text)));
  return parts;
}

// For each cell what lies under the arrows and what over them.
function cellsOf(block, marks, focus, pending, negatives) {
  return block.texts.map((text, flat) => {
    const mark = marks.get(flat);
    const waiting = pending(block.role, flat);
    const state = waiting ? "pending" : (mark?.state ?? "untouched");
    const inFocus = focus !== undefined && mark?.groups.includes(focus);
    const group = inFocus ? focus : mark?.groups.at(-1);
    const hue = group === undefined ? "" : ` hue${group % HUES}`;
    const away = focus !== undefined && !inFocus ? " away" : "";
    const kind = { class: `cell ${state}${hue}${away}${mark?.negative ? " negative" : ""}`, "data-group": group };
    const box = cellBox(block, flat);
    const says = `${placeText(block.name, coordinatesOf(flat, block.tensor.shape))} = ${wordText(block.tensor.type, block.tensor.values[flat])}`;
    const title = s("title", null, waiting ? STATES.pending : `${says}: ${STATES[state]}`);
    const badge = state === "bad" ? "!" : badgeText(mark?.groups ?? []);
    return {
      ground: s("g", kind, groundOf(box, state), title),
      texts: s("g", kind, waiting ? "" : textsOf(box, text, badge, mark?.negative ? `→${negatives.get(flat)}` : "")),
    };
  });
}

function groundOf({ x, y, width, height }, state) {
  const pattern = PATTERNS[state];
  return [
    s("rect", { class: "ground", x, y, width, height }),
    pattern ? s("rect", { x, y, width, height, fill: `url(#${pattern})` }) : "",
    s("rect", { class: "edge", x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1 }),
  ];
}

function textsOf({ x, y, width, height }, value, badge, meaning) {
  return [
    s("text", { class: "value", x: x + width / 2, y: y + height / 2 + 5 }, value),
    badge ? s("text", { class: "badge", x: x + 3, y: y + 9 }, badge) : "",
    meaning ? s("text", { class: "badge end", x: x + width - 2, y: y + height - 3 }, meaning) : "",
  ];
}

function badgeText(groups) {
  const numbers = [...new Set(groups)].map((group) => group + 1);
  return numbers.length > 3 ? `${numbers[0]}…${numbers.at(-1)}` : numbers.join(" ");
}

// The indices that make one tuple belong together.
function tupleFrames(plan, block, focus) {
  if (!plan.row.kernel.endsWith("nd")) return [];
  return plan.groups.flatMap(({ at }, number) => {
    if (!at.length) return [];
    const { x, y, width, height } = around(block, at);
    const away = focus !== undefined && focus !== number ? " away" : "";
    return [s("rect", { class: `tuple hue${number % HUES}${away}`, x: x + 1, y: y + 1, width: width - 2, height: height - 2, rx: 6 })];
  });
}

// A dashed frame around each batch entry.
function batchFrames(plan, block) {
  const b = plan.batchDims;
  const { shape } = block.tensor;
  const fused = block.role === "output" && plan.row.finish;
  if (!b || shape.length < b || fused || !block.texts.length) return [];
  return [...placesOf(shape.slice(0, b))].map((_, entry) => {
    const size = countOf(shape.slice(b));
    const flats = Array.from({ length: size }, (_, i) => entry * size + i);
    if (!flats.length) return s("g");
    const { x, y, width, height } = around(block, flats);
    return s("rect", { class: "batch", x: x - 3, y: y - 2.5, width: width + 6, height: height + 5, rx: 5 });
  });
}
