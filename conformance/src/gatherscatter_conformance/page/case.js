// One case: its inputs, the expected and the actual result, its rules, and a script that reproduces it.

// The note next to the id in the list of cases.
function summaryOf(result) {
  return (result.message ?? "").split("\n", 1)[0].slice(0, 200);
}

function caseContent(number, runtime, piece) {
  const item = report.cases[number];
  const given = piece.cases[item.id];
  const result = piece.results[item.id][runtime];
  const verdict = verdictOf(runtime, number);
  return [
    h("p", { class: "row" }, sign(verdict), h("strong", null, verdict.name), h("span", { class: "dim" }, verdict.title)),
    h(
      "dl",
      { class: "facts" },
      ...facts([
        ["Type", item.type],
        ["Reduction", item.reduction],
        ["Kind", `${item.kind}: ${report.kinds[item.kind] ?? ""}`],
        ...Object.entries(given.attributes).map(([name, value]) => [`Attribute ${name}`, h("code", null, value)]),
      ]),
    ),
    part("Inputs", given.inputs.length ? tensors(given.inputs) : h("p", null, "none")),
    h("div", { class: "sides" }, ...outcome(given, result)),
    given.latitude ? part("The specification leaves this open", h("p", null, given.latitude)) : undefined,
    item.rules.length ? part("What it checks", ...item.rules.map(ruleContent)) : undefined,
    result.script ? scriptContent(result.script) : undefined,
    part("This case in other runtimes", elsewhere(number, runtime)),
  ].filter(Boolean);
}

function part(title, ...content) {
  return h("section", null, h("h4", null, title), ...content);
}

function outcome(given, result) {
  const expected = given.expected ? tensors(given.expected) : h("p", null, `The call is refused: ${given.error}`);
  const got = result.got ? tensors(result.got, given.expected) : undefined;
  const message = result.message ? h("pre", { class: "message" }, result.message) : undefined;
  return [part("Expected", expected), part("Got", ...(got || message ? [got, message] : [h("p", null, "as expected")]))];
}

// Tensors as text. With others to compare, differences are marked.
function tensors(items, others) {
  const line = (tensor, position) => {
    if (!tensor) return h("li", null, h("em", null, `input ${position} is omitted`));
    const other = others?.[position];
    const name = tensor.name ?? other?.name ?? "";
    const kind = `${tensor.type}[${tensor.shape.join(", ")}]`;
    const odd = other && (other.type !== tensor.type || String(other.shape) !== String(tensor.shape));
    const values = h("pre", null, ...(other ? marked(tensor.text, other.text) : [tensor.text]));
    return h("li", null, h("b", null, name), " ", h(odd ? "mark" : "span", { class: "dim" }, kind), values);
  };
  return h("ul", { class: "tensors" }, ...items.map(line));
}

function marked(text, expected) {
  const words = /[^\s,[\]]+/g;
  const others = expected.match(words) ?? [];
  if ((text.match(words) ?? []).length !== others.length) return [text];
  const parts = [];
  let end = 0;
  let position = 0;
  for (const match of text.matchAll(words)) {
    parts.push(text.slice(end, match.index), match[0] === others[position] ? match[0] : h("mark", null, match[0]));
    end = match.index + match[0].length;
    position += 1;
  }
  return [...parts, text.slice(end)];
}

function ruleContent(name) {
  const rule = report.rules[name];
  if (!rule) return h("p", null, name);
  return h(
    "figure",
    null,
    h("figcaption", null, h("b", null, name), ` ${rule.title}`),
    h("blockquote", null, rule.text),
    h("cite", null, rule.source),
    rule.ruling ? h("p", null, h("b", null, "Ruling: "), rule.ruling) : undefined,
  );
}

function scriptContent(text) {
  const code = h("code", null, text);
  const heading = h("h4", { class: "row" }, h("span", null, "Reproducer"), ...copyButton(text, code));
  return h("section", null, heading, h("pre", { class: "script", tabindex: "0", "aria-label": "Reproducer script" }, code));
}

function elsewhere(number, runtime) {
  const line = (other) => {
    const verdict = verdictOf(other.name, number);
    if (!verdict || other.name === runtime) return undefined;
    const open = () => openCase(number, other.name);
    return h("li", null, h("button", { type: "button", onclick: open }, sign(verdict), `${other.title}: ${verdict.name}`));
  };
  return h("ul", { class: "elsewhere" }, ...report.runtimes.map(line));
}
