// Shapes and places: a tensor is { type, shape, values }, its values in row-major order.

function countOf(shape) {
  return shape.reduce((product, size) => product * size, 1);
}

function stridesOf(shape) {
  const strides = new Array(shape.length).fill(1);
  for (let d = shape.length - 2; d >= 0; d--) strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

// All coordinates of a shape, in row-major order; each time the same array.
function* placesOf(shape) {
  if (countOf(shape) === 0) return;
  const place = new Array(shape.length).fill(0);
  for (;;) {
    yield place;
    let d = shape.length - 1;
    while (d >= 0 && ++place[d] === shape[d]) place[d--] = 0;
    if (d < 0) return;
  }
}

function coordinatesOf(flat, shape) {
  const place = new Array(shape.length);
  for (let d = shape.length - 1; d >= 0; d--) {
    place[d] = flat % shape[d];
    flat = Math.floor(flat / shape[d]);
  }
  return place;
}

function flatOf(place, strides) {
  let flat = 0;
  for (let d = 0; d < place.length; d++) flat += place[d] * strides[d];
  return flat;
}

function sameShape(a, b) {
  return a.length === b.length && a.every((size, d) => size === b[d]);
}

// A place or a shape as Python writes it.
function tupleText(shape) {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

// data[1, 0], or only the name of a scalar.
function placeText(name, place) {
  return place.length ? `${name}[${place.join(", ")}]` : name;
}
