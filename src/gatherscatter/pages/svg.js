// Elements of SVG.

const SVG = "http://www.w3.org/2000/svg";

function s(tag, properties, ...children) {
  return complete(document.createElementNS(SVG, tag), properties, children);
}
