// The report. Its index is read at the start, the details of an op version when one of its cases is opened.

const report = readData("report");
const ALL = ""; // instead of an op version: all of them
const DEPARTURES = new Set(["danger", "wrong", "lax"]); // the tones of verdicts that the specification does not allow

const runtimes = new Map(report.runtimes.map((runtime) => [runtime.name, runtime]));
const verdicts = new Map(report.verdicts.map((verdict) => [verdict.name, verdict]));
const numbers = new Map(report.cases.map((item, number) => [item.id, number]));

// The verdict of a runtime in a case; undefined if the case was not run.
function verdictOf(runtime, number) {
  const letter = report.results[runtime].charCodeAt(number);
  return report.verdicts[letter - "a".charCodeAt(0)];
}

const pieces = new Map();

// The cases of an op version, and each runtime's results in them.
function details(op) {
  if (!pieces.has(op)) pieces.set(op, unpack(document.querySelector(`script[data-op="${CSS.escape(op)}"]`)));
  return pieces.get(op);
}

function unpack(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
