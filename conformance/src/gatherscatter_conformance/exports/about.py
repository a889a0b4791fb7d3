"""Write the files next to exported cases: README.md, LICENSE, and export.json with the version for programs."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

from gatherscatter.messages.text import count_text
from gatherscatter_conformance.exports.exported import Exported

FILES = ("README.md", "LICENSE", "export.json")

# The contents of a folder, and how to read one case.
_LAYOUTS = {
    "onnx": """\
Each case is a folder in `results/` (calls with a result) or `errors/` (calls that must be refused). `model.onnx` has
one node. `test_data_set_0/` has its inputs and its output as TensorProto files, and `data.json` has the facts.
`onnx.backend.test.loader.load_model_tests` can read the folder.

```python
import json
from pathlib import Path
import onnx

case = next(path.parent for path in sorted(Path().glob("*/*/data.json")))
facts = json.loads((case / "data.json").read_text(encoding="utf-8"))
model = onnx.load(case / "model.onnx")
files = sorted((case / "test_data_set_0").iterdir())
inputs = [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files if file.name.startswith("input")]
expected = [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files if file.name.startswith("output")]
```
""",
    "openvino": """\
Each case is a folder in `results/` (calls with a result) or `errors/` (calls that must be refused). `model.xml` and
`model.bin` are an IR of one layer, in which an axis input is a constant. The other inputs and `output` are .npy files,
and `data.json` has the facts. bfloat16 is stored as uint16.

```python
import json
from pathlib import Path
import numpy as np

case = next(path.parent for path in sorted(Path().glob("*/*/data.json")))
facts = json.loads((case / "data.json").read_text(encoding="utf-8"))
arrays = {file.stem: np.load(file) for file in case.glob("*.npy")}
expected = arrays.pop("output", None)  # None: the call must be refused
```
""",
    "npz": """\
`corpus.json` has all cases. A tensor in it has the keys `type`, `shape` and `at`. Its values begin at position `at` of
`<type>.npy`, or of the list in `string.json`. Types that NumPy lacks are stored as their bits.

```python
import json, math
import numpy as np

def tensor(entry):
    values = np.load(entry["type"] + ".npy")
    return values[entry["at"] : entry["at"] + math.prod(entry["shape"])].reshape(entry["shape"])

with open("corpus.json", encoding="utf-8") as file:
    case = json.load(file)["cases"][0]
inputs = [None if entry is None else tensor(entry) for entry in case["inputs"]]
expected = None if case["expected"] is None else [tensor(entry) for entry in case["expected"]]
```
""",
    "json": """\
`corpus.json` has all cases. A tensor in it has the keys `type`, `shape`, and `values` in row-major order. NaN,
infinities and integers beyond 2^53 are text, and a complex number is a pair.

```python
import json

with open("corpus.json", encoding="utf-8") as file:
    case = json.load(file)["cases"][0]
inputs = case["inputs"]  # by name
expected = case["expected"]  # None: the call must be refused
```
""",
}

_README = """\
# Test vectors for gather and scatter operators

{cases}: calls of operators of ONNX and OpenVINO, each with the answer of its specification. They were made with
gatherscatter, and can be used without it.

| | |
|---|---|
| corpus version | {corpus}. The first number increases when an answer changes, the second when cases are added |
| format | {format} |
| made by | gatherscatter {gatherscatter}: `{command}` |
| skipped | {skipped} |
| licence | {licence}, see LICENSE |

`export.json` has these facts for programs.

## How to read a case

{layout}
| fact | meaning |
|---|---|
| id | name of the case; it stays the same in later versions |
| op | operator and version |
| attributes | the attributes given; the others have their defaults |
| error | null, or the kind of error for a call that must be refused |
| latitude | empty, or why the specification leaves the result open; a different result is then not wrong |
| relation | `exact`, or `zero sign free` if the sign of a zero does not count |

A result is right if its type, its shape and all its bits are those expected. Any NaN equals any other NaN. The page
docs/corpus.md of gatherscatter describes all facts.
"""


def write_about(folder: Path, format: str, exported: Exported, version: str, command: str) -> None:
    """Write the files that describe the cases in a folder.

    ``command`` is the command that made the folder, for the README.
    """
    package = metadata.distribution("gatherscatter")
    licence = package.read_text("licenses/LICENSE")
    assert licence is not None, "gatherscatter was installed without its licence"
    facts = {
        "corpus": version,
        "format": format,
        "cases": exported.written,
        "skipped": exported.skipped,
        "command": command,
        "gatherscatter": package.version,
        "licence": package.metadata["License-Expression"],
    }
    words = {
        "cases": count_text(exported.written, "case"),
        "skipped": "; ".join(exported.describe_skipped()) or "none",
        "layout": _LAYOUTS[format],
    }
    contents = _README.format(**facts | words), licence, json.dumps(facts, indent=1) + "\n"
    for name, content in zip(FILES, contents, strict=True):
        (folder / name).write_text(content, encoding="utf-8")
