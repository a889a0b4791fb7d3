// Elements are made of texts, never of markup: a report or a link may hold any text.

function h(tag, properties, ...children) {
  return complete(document.createElement(tag), properties, children);
}

function complete(element, properties, children) {
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

// The data that the page holds in a script element.
function readData(id) {
  return JSON.parse(byId(id).textContent);
}
