// Choosing the operator, its version and an example.

const presets = readData("presets");

function familyName({ domain, op_type }) {
  return `${domain}.${op_type}`;
}

function showPicker() {
  const row = ops.get(state.op);
  byId("operator").value = familyName(row);
  const versions = relatives(row).map(({ version, deprecated }) =>
    h("option", { value: version, selected: version === row.version }, `${version}${deprecated ? " (deprecated)" : ""}`),
  );
  byId("version").replaceChildren(...versions);
  byId("examples").replaceChildren(...examplesOf(row).map(({ title, fragment }) =>
    h("button", { type: "button", onclick: () => take(`op=${row.name}&${fragment}`) }, title),
  ));
}

function fillOperators() {
  const families = new Map(table.ops.map((row) => [familyName(row), row]));
  const group = (domain, label) => h("optgroup", { label },
    [...families].filter(([, row]) => row.domain === domain).map(([name, row]) => h("option", { value: name }, row.op_type)));
  byId("operator").append(...Object.entries(table.domains).map(([domain, label]) => group(domain, label)));
  byId("operator").addEventListener("change", (event) => take(firstExample(families.get(event.target.value))));
  byId("version").addEventListener("change", (event) => {
    const row = relatives(ops.get(state.op)).find(({ version }) => String(version) === event.target.value);
    change(() => Object.assign(state, { op: row.name }));
  });
}

// Examples whose attributes the version has; those of other versions would all fail in the same way.
function examplesOf(row) {
  const choices = new Map(row.attributes.map((attribute) => [attribute.name, attribute.choices]));
  return presets[familyName(row)].filter(({ fragment }) => {
    const { attributes } = stateOf(`op=${row.name}&${fragment}`);
    return [...attributes].every(([name, value]) => choices.has(name) && (choices.get(name) ?? [value]).includes(value));
  });
}

function firstExample(row) {
  return `op=${row.name}&${examplesOf(row)[0].fragment}`;
}
