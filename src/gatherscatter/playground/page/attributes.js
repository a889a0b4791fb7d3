// Editing the attributes: those of the version, and any that it has not but is given all the same.

function showAttributes() {
  const focused = document.activeElement?.id;
  const row = ops.get(state.op);
  const own = new Set(row.attributes.map(({ name }) => name));
  const strays = [...state.attributes.keys()].filter((name) => !own.has(name));
  const fields = [...row.attributes.map((attribute) => attributeField(row, attribute)), ...strays.map(strayField)];
  byId("attributes").replaceChildren(...fields);
  byId("attributes").parentElement.hidden = fields.length === 0;
  if (focused) byId(focused)?.focus();
}

function setAttribute(name, value) {
  if (value === undefined) state.attributes.delete(name);
  else state.attributes.set(name, value);
  changed();
}

function attributeField(row, attribute) {
  const { name, type, choices } = attribute;
  const field = choices ? choiceField(row, attribute) : type === "bool" ? flagField(attribute) : plainField(attribute);
  return h("label", null, `${name} `, field);
}

function plainField({ name, default: fallback, required }) {
  const value = state.attributes.get(name);
  const edit = (event) => setAttribute(name, event.target.value.trim() === "" ? undefined : readAttribute(event.target.value));
  return h("input", {
    id: `attribute-${name}`, class: "short", value: value === undefined ? "" : attributeText(value), oninput: edit,
    placeholder: required ? "required" : `default ${fallback}`, inputmode: "text", autocomplete: "off", spellcheck: "false",
  });
}

function flagField({ name, default: fallback }) {
  const value = state.attributes.get(name) ?? fallback;
  const edit = (event) => setAttribute(name, event.target.checked);
  return h("input", { type: "checkbox", id: `attribute-${name}`, checked: value === true, onchange: edit });
}

// The choices of the version first, then those of its other versions, which it refuses.
function choiceField(row, { name, choices, default: fallback }) {
  const value = state.attributes.get(name) ?? fallback;
  const later = relatives(row).flatMap((other) => other.attributes.find((one) => one.name === name)?.choices ?? []);
  const given = value === null ? [] : [String(value)];
  const refused = [...new Set([...later, ...given])].filter((choice) => !choices.includes(choice));
  const option = (choice) => h("option", { value: choice, selected: choice === String(value) }, choice);
  return h("select", { id: `attribute-${name}`, onchange: (event) => setAttribute(name, event.target.value) },
    value === null ? h("option", { value: "", selected: true, disabled: true }, "required") : "",
    h("optgroup", { label: "Of this version" }, choices.map(option)),
    refused.length ? h("optgroup", { label: "Refused by it" }, refused.map(option)) : "");
}

function strayField(name) {
  const remove = () => {
    state.attributes.delete(name);
    changed();
    showAttributes();
  };
  const text = `${name} = ${attributeText(state.attributes.get(name))}`;
  return h("p", { class: "stray" }, text, " ", h("button", { type: "button", onclick: remove, "aria-label": `Remove ${name}` }, "Remove"));
}
