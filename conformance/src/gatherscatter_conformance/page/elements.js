// Elements that several parts of the page use.

function facts(pairs) {
  return pairs.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]);
}

function sign(verdict) {
  return h("span", { class: `sign ${verdict.tone}`, "aria-hidden": "true" }, verdict.sign);
}

function grouped(number) {
  return number.toLocaleString("en");
}

function counted(number, noun) {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// A button that copies a text; `element` shows it.
function copyButton(text, element) {
  const button = h("button", { type: "button", class: "copy" }, "Copy");
  const status = h("span", { role: "status" });
  button.addEventListener("click", async () => {
    const copied = await copyText(text, () => getSelection().selectAllChildren(element));
    status.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
  });
  return [button, status];
}
