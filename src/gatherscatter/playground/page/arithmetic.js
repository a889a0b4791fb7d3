// Reductions, element by element: every step rounded to the type or, if "wide", halves in float32 and rounded once.

// What the specification says of one more update to what a place holds.
function combined(reduction, type, a, u) {
  const family = familyOf(type);
  if (family === "bool") return { add: a || u, mul: a && u, min: a && u, max: a || u, sub: a !== u }[reduction];
  if (family === "string") return a + u;
  if (family === "complex") return combinedComplex(reduction, partType(type), a, u);
  if (reduction === "min" || reduction === "max") return extreme(reduction, a, u);
  const result = reduction === "add" ? a + u : reduction === "sub" ? a - u : a * u;
  // Halves are computed in float32 and rounded, as the library does.
  return family === "integer" ? wrapped(type, result) : rounded(type, type === "float64" ? result : Math.fround(result));
}

function extreme(reduction, a, u) {
  if (a !== a || u !== u) return NaN; // from either side
  if (reduction === "min") return a < u ? a : u;
  return a > u ? a : u;
}

function combinedComplex(reduction, part, a, u) {
  const r = (number) => rounded(part, number);
  if (reduction === "add") return { re: r(a.re + u.re), im: r(a.im + u.im) };
  if (reduction === "sub") return { re: r(a.re - u.re), im: r(a.im - u.im) };
  return { re: r(r(a.re * u.re) - r(a.im * u.im)), im: r(r(a.re * u.im) + r(a.im * u.re)) };
}

// All contributions to one place, in order.
function folded(reduction, type, contributions, wide) {
  if (reduction === "none") return contributions.at(-1);
  if (reduction === "mean" && isInteger(type)) return floorDivided(contributions.reduce((a, b) => a + b), contributions.length);
  if (wide) return rounded(type, folded(reduction, "float32", contributions, false));
  const step = reduction === "mean" ? "add" : reduction;
  const total = contributions.reduce((a, u) => combined(step, type, a, u));
  if (reduction !== "mean") return total;
  return rounded(type, type === "float64" ? total / contributions.length : Math.fround(total / contributions.length));
}

function floorDivided(total, count) {
  const divisor = BigInt(count);
  const quotient = total / divisor;
  return total < 0n && quotient * divisor !== total ? quotient - 1n : quotient;
}
