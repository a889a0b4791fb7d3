// The right of the page: picture, steps, result, errors, and the call in Python.

const view = { plan: null, fault: null, step: null, focus: undefined }; // step null: all at once

// Compute the result and show it. A failure is a Fault of the library or a Mistake of the page.
function recompute() {
  view.plan = null;
  view.fault = null;
  const call = callOf(state);
  try {
    view.plan = evaluate(call);
    view.result = resultOf(view.plan);
  } catch (error) {
    if (!(error instanceof Fault || error instanceof Mistake)) throw error;
    view.plan = null;
    view.fault = error;
  }
  view.step = null;
  view.focus = undefined;
  show();
}

function show() {
  const { plan, fault } = view;
  showFault(fault, plan?.warning);
  byId("outcome").hidden = Boolean(fault);
  byId("steps").hidden = !plan || plan.groups.length === 0 || !isDrawable([...plan.tensors, view.result]);
  drawPicture();
  if (plan) showResult(plan);
  byId("python").textContent = pythonCall(state);
  byId("source").textContent = `${ops.get(state.op).source}. Index range: ${table.index_ranges[ops.get(state.op).index_range]}.`;
}

function showFault(fault, warning) {
  const panel = byId("fault");
  panel.hidden = !fault && !warning;
  panel.className = fault ? "wrong" : "warned";
  const kind = fault instanceof Fault ? fault.kind : fault ? "This page" : "DeprecationWarning";
  for (const fieldset of byId("inputs").children) fieldset.classList.toggle("at-fault", fieldset.dataset.input === fault?.at);
  panel.replaceChildren(h("strong", null, `${kind}: `), fault ? fault.message : (warning ?? ""));
}

function drawPicture() {
  const { plan, fault, step, focus } = view;
  const { tensors, row } = callOf(state);
  const place = byId("picture");
  const width = Math.max(place.clientWidth - 2, 240);
  if (!isDrawable(plan ? [...tensors, view.result] : tensors)) {
    place.replaceChildren(h("p", { class: "note" }, `Too large to draw: pictures have up to ${MOST_CELLS} elements. The result is below.`));
    return;
  }
  const done = plan ? (step ?? plan.groups.length) : 0;
  const svg = plan ? pictureOf(plan, done, focus ?? (step ? step - 1 : undefined), width) : pictureOfInputs(row, tensors, fault, width);
  place.replaceChildren(svg);
  showLegend(svg);
  if (plan) showStep(plan, done);
}

function showLegend(svg) {
  const unsaid = ["pending", ...(view.fault ? ["untouched"] : [])];
  const found = Object.entries(STATES).filter(([state]) => svg.querySelector(`.${state}`) && !unsaid.includes(state));
  const texts = new Map();
  for (const [state, text] of found) {
    const alike = { written: "read", repeated: "again" }[state] ?? state; // drawn alike
    texts.set(alike, [...(texts.get(alike) ?? []), text]);
  }
  byId("legend").replaceChildren(...[...texts].map(([state, all]) => h("li", null, sample(state), all.join(", "))));
}

function sample(state) {
  const pattern = PATTERNS[state];
  const box = { x: 1, y: 1, width: 22, height: 16 };
  if (state === "batch") return s("svg", { width: 24, height: 18, "aria-hidden": "true" }, s("rect", { class: "batch", ...box, rx: 4 }));
  const hue = state === "untouched" || state === "bad" ? "" : " hue0";
  return s("svg", { width: 24, height: 18, "aria-hidden": "true" },
    s("g", { class: `cell ${state}${hue}` },
      s("rect", { class: "ground", ...box }),
      pattern ? s("rect", { ...box, class: "pattern", fill: `url(#${pattern})` }) : "",
      s("rect", { class: "edge", ...box }),
      state === "negative" ? s("text", { class: "value", x: 12, y: 14 }, "-1") : "",
      state === "bad" ? s("text", { class: "value", x: 12, y: 14 }, "!") : ""));
}

// Steps.

const NOUNS = { gather_tree: "beam", gather_reduce: "member" };

function showStep(plan, done) {
  const count = plan.groups.length;
  const slider = byId("step");
  slider.max = count;
  slider.value = view.step ?? count;
  const all = view.step === null;
  const noun = plan.row.kernel.endsWith("nd") ? "index tuple" : (NOUNS[plan.row.kernel] ?? "index");
  const text = all
    ? `All ${count} steps at once. Walk through them, or point at a cell.`
    : done === 0 ? `Before the first ${noun}.` : `${done} of ${count}. ${sentenceOf(plan, done - 1)}`;
  slider.setAttribute("aria-valuetext", text);
  byId("sentence").textContent = count === 1 && all ? sentenceOf(plan, 0) : text;
  byId("sentence").className = all ? "" : `hue${(Math.max(done, 1) - 1) % HUES}`;
  byId("back").disabled = !all && done === 0;
  byId("forth").disabled = !all && done === count;
  byId("all").setAttribute("aria-pressed", String(all));
}

function goTo(step) {
  view.step = step;
  view.focus = undefined;
  drawPicture();
}

// The group under the pointer is shown alone.
function point(event) {
  const group = event.type === "pointerleave" ? undefined : event.target.closest?.("[data-group]")?.dataset.group;
  const focus = group === undefined ? undefined : Number(group);
  if (focus === view.focus || !view.plan) return;
  view.focus = focus;
  drawPicture();
}

function showResult(plan) {
  const { result } = view;
  byId("rule").textContent = shapeSentence(plan, result.shape);
  byId("result-type").textContent = `${result.type} ${tupleText(result.shape)}`;
  byId("result").textContent = result.values.length > LARGEST_SHOWN ? `${result.values.length} elements` : tensorText(result, true);
}

const LARGEST_SHOWN = 5000;

// The text that a screen reader says after a change.
let announcing = 0;

function announce() {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("said").textContent = summary();
  }, 300);
}

function summary() {
  if (view.fault) return byId("fault").textContent;
  const text = tensorText(view.result);
  return `Result: ${view.result.type} ${tupleText(view.result.shape)}: ${text.length > 300 ? `${text.slice(0, 300)} and so on` : text}`;
}
