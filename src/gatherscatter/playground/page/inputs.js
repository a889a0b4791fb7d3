// Editing the inputs: type, shape, and values as text or, for few of them, in a grid.

const MOST_FIELDS = 48;
const asText = new Set(); // inputs that are shown as text though a grid could

function showInputs() {
  const focused = document.activeElement?.id;
  const row = ops.get(state.op);
  byId("inputs").replaceChildren(...row.inputs.map((input) => inputFields(row, input)));
  if (focused) byId(focused)?.focus();
}

function inputFields(row, input) {
  const { name, optional } = input;
  const tensor = state.inputs.get(name);
  const legend = h("legend", null, h("span", { class: "name" }, name), optional ? h("label", null, presence(input, tensor), "given") : "", tensor && hasGrid(tensor) ? formSwitch(name) : "");
  if (!tensor) return h("fieldset", { "data-input": name }, legend, h("p", { class: "dim" }, "left out"));
  return h("fieldset", { "data-input": name },
    legend,
    h("div", { class: "row" },
      h("label", null, "Type ", typeChoice(row, input, tensor)),
      h("label", null, "Shape ", shapeField(name, tensor))),
    hasGrid(tensor) && !asText.has(name) ? gridFields(name, tensor) : textField(name, tensor),
    h("p", { class: "mistake", id: `mistake-${name}`, role: "alert" }));
}

function hasGrid({ shape, values }) {
  return values.length > 0 && values.length <= MOST_FIELDS && (shape.at(-1) ?? 1) <= 10;
}

function presence(input, tensor) {
  const { name } = input;
  const toggle = (event) => change(() => state.inputs.set(name, event.target.checked ? initialTensor(input) : null));
  return h("input", { type: "checkbox", id: `given-${name}`, checked: Boolean(tensor), onchange: toggle });
}

// An input that was left out, with values that mean the same: a weight of 1 for each index, a position of 0 for each
// entry of the first input, and zero points and scalars that leave the result as it is.
function initialTensor({ name, kind }) {
  const row = ops.get(state.op);
  const [first, indices] = [row.inputs[0].name, "indices"].map((other) => state.inputs.get(other));
  if (name === "zero_points") return neutralZeroPoints(first, state.inputs.get("scales"), view.plan?.values.bits ?? 4);
  const type = kind === "data" ? first.type : (indices?.type ?? row.index_types[0]);
  const shape = { data: indices?.shape, indices: [first.shape[0] ?? 1], scalar: [] }[kind];
  const scalars = { default_index: -1n, num_segments: BigInt(view.plan?.slots[0] ?? 0) };
  const value = kind === "data" ? counted(type, 1) : (scalars[name] ?? 0n);
  return { type, shape, values: new Array(countOf(shape)).fill(value) };
}

function typeChoice(row, { name, kind }, tensor) {
  const own = typesOf(row, kind);
  const others = Object.keys(table.types).filter((type) => !own.includes(type));
  const option = (type) => h("option", { value: type, selected: type === tensor.type }, type);
  const choose = (event) => change(() => retype(row, name, event.target.value));
  return h("select", { id: `type-${name}`, onchange: choose },
    h("optgroup", { label: "Of this version" }, own.map(option)),
    h("optgroup", { label: "Refused by it" }, others.map(option)));
}

// Inputs whose type is that of another one follow it.
function retype(row, name, type) {
  const before = state.inputs.get(name).type;
  const follows = (input) => input.name === name || (name === leaderOf(row, input.kind) && state.inputs.get(input.name)?.type === before);
  for (const input of row.inputs.filter(follows)) state.inputs.set(input.name, converted(state.inputs.get(input.name), type));
}

// What can't be said in the new type becomes its zero.
function converted({ type: before, shape, values }, type) {
  const one = (element) => {
    try {
      return readElement(type, elementText(before, element));
    } catch {
      return zeroOf(type);
    }
  };
  return { type, shape, values: values.map(one) };
}

function shapeField(name, tensor) {
  const edit = (event) => attempt(name, event.target, () => change(() => reshape(name, readShape(event.target.value))));
  return h("input", { id: `shape-${name}`, class: "shape", value: tensor.shape.join(", "), placeholder: "scalar", onchange: edit, autocomplete: "off", spellcheck: "false", "aria-describedby": `mistake-${name}` });
}

// The same values in another shape. Missing values count up, so that all of them differ.
function reshape(name, shape) {
  const { type, values } = state.inputs.get(name);
  const count = countOf(shape);
  if (count > LARGEST) throw new Mistake(`${count} elements are too many; this page takes ${LARGEST} at most`);
  const { kind } = ops.get(state.op).inputs.find((input) => input.name === name);
  const added = (i) => (isNumeric(kind) ? counted(type, i) : zeroOf(type));
  state.inputs.set(name, { type, shape, values: Array.from({ length: count }, (_, i) => (i < values.length ? values[i] : added(i))) });
}

function counted(type, i) {
  const texts = { bool: i % 2 ? "true" : "false", string: String.fromCharCode(97 + (i % 26)) };
  try {
    return readElement(type, texts[familyOf(type)] ?? String(i));
  } catch {
    return zeroOf(type);
  }
}

function formSwitch(name) {
  const turn = () => {
    if (!asText.delete(name)) asText.add(name);
    showInputs();
  };
  return h("button", { type: "button", class: "small", id: `form-${name}`, onclick: turn, "aria-label": `${name}: edit as ${asText.has(name) ? "a grid" : "text"}` }, asText.has(name) ? "as grid" : "as text");
}

function textField(name, tensor) {
  const text = tensorText(tensor, true);
  const edit = (event) => attempt(name, event.target, () => {
    const read = readTensor(tensor.type, event.target.value);
    if (read.values.length > LARGEST) throw new Mistake(`this page takes ${LARGEST} elements at most`);
    state.inputs.set(name, read);
    byId(`shape-${name}`).value = read.shape.join(", ");
    changed();
  });
  const rows = Math.min(Math.max(text.split("\n").length, 2), 10);
  const area = h("textarea", { id: `values-${name}`, rows, "aria-label": `Values of ${name}`, "aria-describedby": `mistake-${name}`, oninput: edit, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
  area.value = text;
  return area;
}

function gridFields(name, tensor) {
  const { type, shape, values } = tensor;
  const columns = shape.at(-1) ?? 1;
  const width = Math.max(3, ...values.map((element) => elementText(type, element).length)) + 1;
  const field = (flat) => h("input", {
    id: `cell-${name}-${flat}`, style: `--letters: ${Math.min(width, 14)}`, value: elementText(type, values[flat]), "data-flat": flat, "data-columns": columns,
    "aria-label": placeText(name, coordinatesOf(flat, shape)), oninput: (event) => editCell(name, flat, event.target), onkeydown: moveFocus, onfocus: (event) => event.target.select(),
    autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-describedby": `mistake-${name}`,
  });
  const rows = Array.from({ length: values.length / columns }, (_, i) => {
    const newMatrix = shape.length > 2 && i > 0 && i % shape.at(-2) === 0;
    return h("div", { class: newMatrix ? "line apart" : "line" }, Array.from({ length: columns }, (_, j) => field(i * columns + j)));
  });
  return h("div", { class: "grid", role: "group", "aria-label": `Values of ${name}` }, rows);
}

function editCell(name, flat, field) {
  attempt(name, field, () => {
    const tensor = state.inputs.get(name);
    const element = readElement(tensor.type, field.value);
    state.inputs.set(name, { ...tensor, values: tensor.values.with(flat, element) });
    changed();
  });
}

// Arrow keys move from cell to cell. Left and right do so only at the end of the text.
function moveFocus(event) {
  const { target, key } = event;
  const all = target.selectionEnd - target.selectionStart === target.value.length;
  const columns = Number(target.dataset.columns);
  const step = {
    ArrowUp: -columns,
    ArrowDown: columns,
    ArrowLeft: all || target.selectionEnd === 0 ? -1 : 0,
    ArrowRight: all || target.selectionStart === target.value.length ? 1 : 0,
  }[key];
  const [, name] = /^cell-(.*)-\d+$/.exec(target.id);
  const next = step && byId(`cell-${name}-${Number(target.dataset.flat) + step}`);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

// Carry out an edit; if it makes no sense say so beside it, and leave all as it was.
function attempt(name, field, edit) {
  const place = byId(`mistake-${name}`);
  try {
    edit();
    field.removeAttribute("aria-invalid");
    if (byId(`mistake-${name}`) === place) place.textContent = "";
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    field.setAttribute("aria-invalid", "true");
    place.textContent = error.message;
  }
}
