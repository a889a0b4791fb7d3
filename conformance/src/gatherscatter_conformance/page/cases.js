// The cases of a cell, by verdict and kind. Lists are made when they are opened, a limited number of items at a time.

const STEP = 50;
const dialog = byId("cases");

function openCell(op, runtime) {
  change({ row: op, column: runtime, case: "" }, true);
  showCases();
}

function openCase(number, runtime) {
  const verdict = verdictOf(runtime, number);
  const verdictsShown = wanted(verdict) ? state.verdicts : new Set();
  const hidden = state.runtime && state.runtime !== runtime;
  change({ column: runtime, case: report.cases[number].id, verdicts: verdictsShown, runtime: hidden ? "" : state.runtime }, true);
  show();
}

// Update the dialog to the state.
function showCases() {
  if (!state.column) {
    if (dialog.open) dialog.close();
    return;
  }
  const shown = casesOf(state.row, state.column);
  const runtime = runtimes.get(state.column);
  const close = h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×");
  dialog.replaceChildren(
    h("header", null, h("h2", { id: "cases-title", tabindex: "-1", autofocus: "" }, `${state.row || "All op versions"} in ${runtime.title}`), close),
    h("p", { class: "dim" }, `${runtime.package} ${runtime.version}, ${counted(shown.length, "case")}${chosenText()}`),
    ...report.verdicts.map((verdict) => verdictSection(verdict, shown)).filter(Boolean),
  );
  Object.assign(dialog.dataset, { row: state.row, column: state.column });
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const opened = dialog.querySelector(state.case ? `details[data-has~="${numbers.get(state.case)}"]` : "details");
  if (opened) opened.open = true;
}

function verdictSection(verdict, shown) {
  const own = shown.filter((number) => verdictOf(state.column, number) === verdict);
  if (!own.length) return undefined;
  const kinds = new Map(own.map((number) => [report.cases[number].kind, []]));
  for (const number of own) kinds.get(report.cases[number].kind).push(number);
  const heading = h("h3", null, sign(verdict), ` ${verdict.name} `, h("span", { class: "dim" }, String(own.length)));
  return h("section", { "data-verdict": verdict.name }, heading, h("p", { class: "dim" }, verdict.title), ...[...kinds].map(kindGroup));
}

function kindGroup([kind, own]) {
  const list = h("ul", { class: "list" });
  const summary = h("summary", null, h("b", null, kind), ` ${own.length} `, h("span", { class: "dim" }, report.kinds[kind] ?? ""));
  const group = h("details", { class: "kind", "data-kind": kind, "data-has": own.join(" ") }, summary, list);
  group.addEventListener("toggle", () => {
    if (!group.open || list.childElementCount) return;
    const at = own.indexOf(numbers.get(state.case));
    lengthen(list, own, Math.max(STEP, at + 1));
  });
  return group;
}

// Add a number of cases to a list, and a button for the rest.
function lengthen(list, own, more) {
  const before = list.querySelectorAll(":scope > .case").length;
  list.querySelector(":scope > .more")?.remove();
  const added = own.slice(before, before + more);
  list.append(...added.map((number) => caseItem(number, state.column)));
  const left = own.length - before - added.length;
  if (!left) return;
  const button = h("button", { type: "button" }, `Show ${Math.min(STEP, left)} more of ${left}`);
  button.addEventListener("click", () => {
    lengthen(list, own, STEP);
    list.querySelectorAll(":scope > .case > details > summary")[before + added.length].focus();
  });
  list.append(h("li", { class: "more" }, button));
}

function caseItem(number, runtime) {
  const item = report.cases[number];
  const note = h("span", { class: "dim" });
  const content = h("div", { class: "content" });
  const entry = h("details", { "data-case": item.id }, h("summary", null, h("code", null, item.id), note), content);
  const loaded = details(item.op).then((piece) => {
    note.textContent = summaryOf(piece.results[item.id][runtime]);
    return piece;
  });
  entry.addEventListener("toggle", async () => {
    if (!entry.open) return;
    change({ case: item.id });
    if (!content.childElementCount) content.append(...caseContent(number, runtime, await loaded));
  });
  if (item.id === state.case) {
    entry.open = true;
    loaded.then(() => setTimeout(() => entry.scrollIntoView()));
  }
  return h("li", { class: "case" }, entry);
}

// Called for every way to close it: Escape, its button, or the back button.
dialog.addEventListener("close", () => {
  if (state.column) change({ row: "", column: "", case: "" });
  const { row, column } = dialog.dataset;
  const cell = grid.flat().find((item) => item.dataset.op === row && item.dataset.runtime === column);
  if (cell) focusCell(cell);
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

// Update the whole page to the state.
function show() {
  const found = tally();
  showFilters(found);
  showMatrix(found);
  showCases();
}

function showAddress() {
  readAddress();
  show();
}

fillHead();
fillForm();
showAddress();
foldLegend();
addEventListener("hashchange", showAddress);
