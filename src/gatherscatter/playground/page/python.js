// The same call in Python, to paste.

function pythonCall({ op, inputs, attributes }) {
  const row = ops.get(op);
  const given = row.inputs.map(({ name }) => inputs.get(name) ?? null);
  while (given.length && given.at(-1) === null) given.pop();
  const lines = given.map((tensor) => `    ${tensor ? pythonArray(tensor) : "None"},`);
  const options = [...attributes].map(([name, value]) => `    ${name}=${pythonValue(value)},`);
  const imports = lines.some((line) => line.includes("ml_dtypes.")) ? "import ml_dtypes\n" : "";
  return `import gatherscatter as gs\n${imports}import numpy as np\n\nresult = gs.op(${pythonText(op)})(\n${[...lines, ...options].join("\n")}\n)`;
}

function pythonValue(value) {
  if (typeof value === "string") return pythonText(value);
  if (typeof value === "bigint") return String(value);
  return typeof value === "boolean" ? (value ? "True" : "False") : `float("${value}")`;
}

function pythonArray({ type, shape, values }) {
  const dtype = table.types[type].extension ? `ml_dtypes.${type}` : `"${dtypeOf(type)}"`;
  if (countOf(shape) === 0) return `np.empty(${tupleText(shape)}, ${dtype})`;
  return `np.array(${pythonNested(shape, values.map((element) => pythonElement(type, element)))}, ${dtype})`;
}

function pythonNested(shape, words) {
  if (shape.length === 0) return words[0];
  const step = words.length / shape[0];
  const parts = Array.from({ length: shape[0] }, (_, i) => pythonNested(shape.slice(1), words.slice(i * step, (i + 1) * step)));
  return `[${parts.join(", ")}]`;
}

function pythonElement(type, element) {
  const family = familyOf(type);
  if (family === "string") return pythonText(element);
  if (family === "bool") return element ? "True" : "False";
  if (family === "complex") return `complex("${elementText(type, element)}")`;
  const text = elementText(type, element);
  if (family === "integer") return text;
  if (/^-?\d+$/.test(text)) return `${text}.0`;
  return text.replace("NaN", "np.nan").replace("Infinity", "np.inf");
}
