// The choices and the open case. They are part of the address, so a link shows the same state.

const CHOICES = ["op", "type", "reduction", "kind", "rule", "runtime"];
const state = {};

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const known = (name, values) => (values.has(address.get(name)) ? address.get(name) : "");
  for (const name of CHOICES) state[name] = known(name, options[name]);
  state.search = address.get("search") ?? "";
  state.verdicts = new Set((address.get("verdict") ?? "").split(",").filter((name) => verdicts.has(name)));
  state.column = known("column", runtimes); // of the open cell
  state.row = known("row", options.op);
  state.case = known("case", numbers);
}

function address() {
  const parts = new URLSearchParams();
  for (const name of [...CHOICES, "search", "column", "row", "case"]) if (state[name]) parts.set(name, state[name]);
  if (state.verdicts.size) parts.set("verdict", [...state.verdicts].join(","));
  return `#${parts}`;
}

// The back button undoes opening something, but not a choice of filters.
function change(changes, step = false) {
  Object.assign(state, changes);
  if (step) history.pushState(null, "", address());
  else history.replaceState(null, "", address());
}
