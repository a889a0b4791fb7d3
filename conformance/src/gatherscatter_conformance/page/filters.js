// The head of the page and the form.

const form = byId("filters");

function fillHead() {
  byId("about").append(
    ...facts([
      ["Date", h("time", { datetime: report.created }, report.created.replace("T", " ").replace("Z", " UTC"))],
      ["Machine", report.machine],
      ["Python", report.python],
      ["gatherscatter", report.gatherscatter],
      ["Corpus", `version ${report.corpus}, ${counted(report.cases.length, "case")}`],
      ...(report.complete ? [] : [["Incomplete", "the run ended before its last case"]]),
    ]),
  );
  const row = (runtime) => {
    const recipe = runtime.recipe ? "; a recipe: the operator written with functions of the library, which does not implement it" : "";
    const text = ` ${runtime.package} ${runtime.version}, ${runtime.seconds.toFixed(1)} s${recipe}`;
    return h("li", null, h("strong", null, runtime.title), text);
  };
  byId("runtimes").append(h("ul", null, ...report.runtimes.map(row)));
}

function optionText(name, value) {
  if (name === "rule") return report.rules[value] ? `${value}: ${report.rules[value].title}` : value;
  if (name === "runtime") return runtimes.get(value).title;
  return value;
}

function fillForm() {
  for (const name of CHOICES) {
    const select = form.elements[name];
    select.append(h("option", { value: "" }, "all"));
    for (const value of options[name].keys()) select.append(h("option", { value }));
    select.addEventListener("change", () => choose({ [name]: select.value }));
  }
  form.elements.search.addEventListener("input", (event) => choose({ search: event.target.value }));
  form.addEventListener("submit", (event) => event.preventDefault());
  const box = (verdict) => h("input", { type: "checkbox", name: "verdict", value: verdict.name, onchange: chooseVerdicts });
  byId("verdicts").append(
    ...report.verdicts.map((verdict) =>
      h(
        "label",
        { class: "verdict" },
        box(verdict),
        sign(verdict),
        h("strong", null, verdict.name),
        h("span", { class: "count", "data-verdict": verdict.name }),
        h("small", null, verdict.title),
      ),
    ),
  );
  byId("departures").addEventListener("click", () => {
    choose({ verdicts: new Set(report.verdicts.filter((verdict) => DEPARTURES.has(verdict.tone)).map((verdict) => verdict.name)) });
  });
  byId("reset").addEventListener("click", () => {
    choose({ ...Object.fromEntries(CHOICES.map((name) => [name, ""])), search: "", verdicts: new Set() });
  });
}

// On a phone, the open legend would push the matrix far down.
function foldLegend() {
  if (matchMedia("(max-width: 43rem)").matches && !state.verdicts.size) byId("legend").open = false;
}

function chooseVerdicts() {
  const ticked = form.querySelectorAll("[name=verdict]:checked");
  choose({ verdicts: new Set([...ticked].map((box) => box.value)) });
}

function choose(changes) {
  change(changes);
  show();
}

// Update the form to the state.
function showFilters({ counts, shown }) {
  for (const name of CHOICES) {
    const select = form.elements[name];
    for (const option of [...select.options].slice(1)) {
      const count = counts[name].get(option.value) ?? 0;
      option.textContent = `${optionText(name, option.value)} (${count})`;
      option.disabled = !count && option.value !== state[name];
    }
    select.value = state[name];
    select.classList.toggle("chosen", select.value !== "");
  }
  if (form.elements.search.value !== state.search) form.elements.search.value = state.search;
  for (const box of form.querySelectorAll("[name=verdict]")) box.checked = state.verdicts.has(box.value);
  for (const count of form.querySelectorAll(".count")) count.textContent = grouped(counts.verdicts.get(count.dataset.verdict) ?? 0);
  byId("shown").textContent = `${grouped(shown)} of ${counted(report.cases.length, "case")}`;
  byId("chosen").textContent = chosenText();
  showMeaning();
}

function chosenText() {
  const chosen = CHOICES.filter((name) => state[name]).map((name) => `${name} ${state[name]}`);
  if (state.search) chosen.push(`“${state.search}” in the id`);
  return chosen.length ? `, with ${chosen.join(", ")}` : "";
}

// The meaning of the chosen kind and rule.
function showMeaning() {
  const kind = state.kind && `${state.kind}: ${report.kinds[state.kind] ?? ""}`;
  const rule = report.rules[state.rule];
  const texts = [kind, rule && `${state.rule}, ${rule.title}: ${rule.text} (${rule.source})`].filter(Boolean);
  const meaning = byId("meaning");
  meaning.replaceChildren(...texts.map((text) => h("span", null, text)));
  meaning.hidden = !texts.length;
}
