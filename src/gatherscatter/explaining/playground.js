// The form of the playground. The server makes the call that the form describes, and sends its explanation.

const { ops, types, domains, most_bytes: mostBytes } = readData("table");
const WAIT = 250; // ms after the last key
let row;
let running = new AbortController();
let waiting = 0;

const familyOf = ({ domain, op_type }) => `${domain}.${op_type}`;

function fillOperators() {
  const families = new Map(ops.map((one) => [familyOf(one), one]));
  byId("operator").append(...Object.entries(domains).map(([domain, label]) => h("optgroup", { label },
    [...families.values()].filter((one) => one.domain === domain)
      .map((one) => h("option", { value: familyOf(one) }, one.op_type)))));
  byId("operator").addEventListener("change", (event) => choose(families.get(event.target.value)));
  byId("version").addEventListener("change", (event) => choose(ops.find(({ name }) => name === event.target.value)));
}

// Show the form of an op version, with its first example.
function choose(version) {
  row = version;
  byId("operator").value = familyOf(row);
  byId("version").replaceChildren(...ops.filter((one) => familyOf(one) === familyOf(row)).map((one) =>
    h("option", { value: one.name, selected: one === row }, `${one.version}${one.deprecated ? " (deprecated)" : ""}`)));
  byId("examples").replaceChildren(...row.presets.map((preset) =>
    h("button", { type: "button", onclick: () => fill(preset) }, preset.title)));
  fill(row.presets[0]);
}

function fill({ inputs, attributes }) {
  byId("inputs").replaceChildren(...row.inputs.map((input) => inputField(input, inputs[input.name])));
  byId("attributes").replaceChildren(...row.attributes.map((one) => attributeField(one, attributes[one.name] ?? "")));
  send();
}

// An input is "type:values". The type has a list, and the values, or the shape of an empty array, have a text field.
function inputField({ name, optional, types: own }, text = "") {
  const [, type, values] = /^(\w+):?(.*)$/s.exec(text) ?? [null, own[0], ""];
  const option = (one) => h("option", { value: one, selected: one === type }, one);
  const others = types.filter((one) => !own.includes(one));
  const field = h("textarea", { id: `values-${name}`, rows: 3, spellcheck: "false", "aria-describedby": "mistake" });
  field.value = values.replaceAll("],[", "],\n [");
  return h("fieldset", null,
    h("legend", null, name, optional ? " (optional: leave it empty)" : ""),
    h("label", null, "Type ", h("select", { id: `type-${name}` },
      h("optgroup", { label: "Of this version" }, own.map(option)),
      h("optgroup", { label: "Refused by it" }, others.map(option)))),
    h("label", null, "Values", field));
}

function attributeField({ name, choices, default: fallback }, value) {
  const blank = fallback === null ? "required" : `default: ${fallback}`;
  const option = (one) => h("option", { value: one, selected: one === value }, one || blank);
  const field = choices
    ? h("select", { id: `attribute-${name}` }, ["", ...choices].map(option))
    : h("input", { id: `attribute-${name}`, value, placeholder: blank, "aria-describedby": "mistake" });
  return h("label", null, `${name} `, field);
}

function readCall() {
  const inputs = {};
  for (const { name } of row.inputs) {
    const values = byId(`values-${name}`).value.trim();
    if (values) inputs[name] = byId(`type-${name}`).value + (/^\([\d, ]*\):/.test(values) ? values : `:${values}`);
  }
  const given = row.attributes.map(({ name }) => [name, byId(`attribute-${name}`).value.trim()]);
  return { op: row.name, inputs, attributes: Object.fromEntries(given.filter(([, value]) => value !== "")) };
}

async function send() {
  const body = JSON.stringify(readCall());
  if (new Blob([body]).size > mostBytes) return show({ mistake: `A call has at most ${mostBytes} bytes.` });
  running.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    const headers = { "Content-Type": "application/json", "X-Token": location.hash.slice(1) };
    const response = await fetch("/call", { method: "POST", headers, body, signal });
    show(response.ok ? await response.json() : { mistake: await response.text() });
  } catch (error) {
    if (!signal.aborted) show({ mistake: `The server does not answer: ${error.message}` });
  }
}

function show({ html, steps, python, mistake = "", input = "" }) {
  byId("mistake").textContent = mistake;
  for (const field of byId("call").querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  (byId(`values-${input}`) ?? byId(`attribute-${input}`))?.setAttribute("aria-invalid", "true");
  if (mistake) return;
  byId("python").textContent = python;
  const content = h("div");
  content.innerHTML = html; // of the library, which escapes every value; the page's policy runs no script in it
  byId("explanation").replaceChildren(content);
  walkThrough(content, steps);
}

fillOperators();
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address keeps the token
  byId("explanation").focus();
});
byId("call").addEventListener("submit", (event) => event.preventDefault());
byId("call").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(send, WAIT);
});
byId("copy").addEventListener("click", async (event) => {
  const select = () => getSelection().selectAllChildren(byId("python"));
  event.target.textContent = (await copyText(byId("python").textContent, select)) ? "Copied" : "Press Ctrl+C";
});
choose(ops.find(({ name }) => name === "onnx.GatherND-13"));
