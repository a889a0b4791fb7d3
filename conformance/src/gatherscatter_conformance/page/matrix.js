// The matrix: a grid with one tab stop; the arrow keys move within it.

const matrix = byId("matrix");
let grid = []; // what can be focused, row by row

function showMatrix({ cells, shown }) {
  const columns = report.runtimes.filter((runtime) => !state.runtime || runtime.name === state.runtime);
  const rows = [ALL, ...report.ops].filter((op) => columns.some((runtime) => cells.get(op).get(runtime.name).size));
  grid = [];
  if (!shown) {
    matrix.replaceChildren(h("p", { class: "note" }, "No case matches these filters. Choose fewer, or reset them."));
    return;
  }
  const line = (op) => {
    const items = columns.map((runtime) => cellContent(op, runtime, cells.get(op).get(runtime.name)));
    grid.push(items);
    const content = items.map((item) => h("td", { role: "gridcell" }, item));
    return h("tr", { role: "row", class: op === ALL ? "total" : undefined }, h("th", { scope: "row", role: "rowheader" }, ...opName(op)), ...content);
  };
  const head = columns.map((runtime) => h("th", { scope: "col", role: "columnheader" }, runtime.title, h("small", null, runtime.recipe ? `${runtime.version}, recipe` : runtime.version)));
  matrix.replaceChildren(
    h(
      "table",
      { role: "grid", "aria-label": "Op versions by runtimes. Arrow keys move, Enter opens a cell.", style: `--columns: ${columns.length}`, onkeydown: walk },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, "Op version"), ...head)),
      h("tbody", { role: "rowgroup" }, ...rows.map(line)),
    ),
  );
  grid[0][0].tabIndex = 0;
}

function opName(op) {
  if (op === ALL) return ["all op versions"];
  const dot = op.indexOf(".") + 1;
  return [h("span", { class: "dim" }, op.slice(0, dot)), h("wbr"), op.slice(dot)];
}

function cellContent(op, runtime, counts) {
  const label = h("span", { class: "runtime" }, runtime.title);
  if (!counts.size) return h("span", { class: "empty", tabindex: "-1", "aria-label": "no cases" }, label, "·");
  const [worst, ...others] = report.verdicts.filter((verdict) => counts.has(verdict.name));
  const count = (verdict, ...text) =>
    h("span", { class: "tally", "data-verdict": verdict.name, "data-count": counts.get(verdict.name) }, ...text);
  const spoken = [worst, ...others].map((verdict) => `${counts.get(verdict.name)} ${verdict.name}`).join(", ");
  return h(
    "button",
    {
      type: "button",
      class: `cell ${worst.tone}`,
      tabindex: "-1",
      "data-op": op,
      "data-runtime": runtime.name,
      "aria-label": `${op || "all op versions"}, ${runtime.title}: ${spoken}`,
      title: spoken,
      onclick: () => openCell(op, runtime.name),
    },
    label,
    h(
      "span",
      { class: "counts" },
      count(worst, h("span", { class: "sign" }, worst.sign), " ", h("b", null, `${worst.name} ${grouped(counts.get(worst.name))}`)),
      h("span", { class: "others" }, ...others.map((verdict) => count(verdict, `${verdict.sign} ${grouped(counts.get(verdict.name))}`))),
    ),
  );
}

function walk(event) {
  const row = grid.findIndex((items) => items.includes(event.target));
  if (row < 0) return;
  const column = grid[row].indexOf(event.target);
  const last = grid[row].length - 1;
  const steps = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [event.ctrlKey ? 0 : row, 0],
    End: [event.ctrlKey ? grid.length - 1 : row, last],
  };
  const [toRow, toColumn] = steps[event.key] ?? [];
  const target = grid[toRow]?.[toColumn];
  if (steps[event.key]) event.preventDefault();
  if (target) focusCell(target);
}

// An ordinary link would replace the state in the address.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  (grid.flat().find((item) => item.tabIndex === 0) ?? matrix).focus();
});

function focusCell(target) {
  for (const item of grid.flat()) item.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}
