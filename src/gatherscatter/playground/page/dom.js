// Elements are made of texts, never of markup: a link may hold any text.

const SVG = "http://www.w3.org/2000/svg";

function h(tag, properties, ...children) {
  return filled(document.createElement(tag), properties, children);
}

function s(tag, properties, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== ""));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}
