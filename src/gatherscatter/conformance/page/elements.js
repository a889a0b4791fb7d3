// Elements are made of texts, never of markup: a report may hold any text.

function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

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
