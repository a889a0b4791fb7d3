// The cases that match the chosen filters, and their numbers.

const VALUES = {
  op: (item) => [item.op],
  type: (item) => [item.type],
  reduction: (item) => [item.reduction],
  kind: (item) => [item.kind],
  rule: (item) => item.rules,
};
const options = Object.fromEntries(
  Object.entries(VALUES).map(([name, values]) => [name, new Set(report.cases.flatMap(values))]),
);
options.op = new Set(report.ops);
options.runtime = runtimes;

// Whether a case matches the search.
function searched() {
  const words = state.search.toLowerCase().split(/\s+/);
  return (item) => words.every((word) => item.id.toLowerCase().includes(word));
}

// The choices that a case does not match.
function missed(item) {
  return Object.keys(VALUES).filter((name) => state[name] && !VALUES[name](item).includes(state[name]));
}

function wanted(verdict) {
  return !state.verdicts.size || state.verdicts.has(verdict.name);
}

// The numbers of the cases in a cell of the matrix.
function casesOf(op, runtime) {
  const found = searched();
  return [...report.cases.keys()].filter((number) => {
    const item = report.cases[number];
    const verdict = verdictOf(runtime, number);
    return (op === ALL || item.op === op) && verdict && wanted(verdict) && found(item) && !missed(item).length;
  });
}

class Counts extends Map {
  add(key) {
    this.set(key, (this.get(key) ?? 0) + 1);
  }
}

// Counts of results per cell and verdict, and of cases per option if it were chosen instead of the current one.
function tally() {
  const found = searched();
  const cells = new Map([ALL, ...report.ops].map((op) => [op, new Map([...runtimes.keys()].map((name) => [name, new Counts()]))]));
  const counts = { verdicts: new Counts(), ...Object.fromEntries(CHOICES.map((name) => [name, new Counts()])) };
  let shown = 0;
  report.cases.forEach((item, number) => {
    const misses = missed(item);
    if (misses.length > 1 || !found(item)) return;
    let met = false;
    for (const runtime of runtimes.keys()) {
      const verdict = verdictOf(runtime, number);
      if (!verdict) continue;
      const here = !state.runtime || state.runtime === runtime;
      met ||= here && wanted(verdict);
      if (misses.length) continue;
      if (here) counts.verdicts.add(verdict.name);
      if (wanted(verdict)) counts.runtime.add(runtime);
      if (here && wanted(verdict)) for (const op of [ALL, item.op]) cells.get(op).get(runtime).add(verdict.name);
    }
    if (!met) return;
    for (const [name, values] of Object.entries(VALUES)) {
      if (!misses.length || misses[0] === name) values(item).forEach((value) => counts[name].add(value));
    }
    if (!misses.length) shown += 1;
  });
  return { cells, counts, shown };
}
