"""Reports for tests of the page: one with texts that try to inject markup, and random ones of any size."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

VERDICTS = {
    "crashes": "the process ended",
    "out-of-bounds memory": "the result holds memory that is none of its inputs",
    "hangs": "no answer within the time limit",
    "differs": "another result than the specification's",
    "nondeterministic": "the same call gave several results",
    "narrowed": "64-bit values lost their upper half",
    "accepts": "a bad call was not refused",
    "refuses": "a good call was refused",
    "allowed": "another result, which the specification allows",
    "pass": "the specification's result",
    "not asked": "the runtime has no way to be asked",
}
KINDS = {
    "plain": "nothing special",
    "repeated": "indices that name one element twice",
    "out of range": "indices beyond the ends",
    "nan": "<b>NaN</b> & friends",
}
RULES = {
    "O3": {
        "title": "Repeated indices",
        "text": "Updates are applied in order.",
        "source": "ONNX operators, ScatterND-18",
        "ruling": "The last one wins.",
    },
    "V10": {"title": 'Range "checks"', "text": "It is an error.", "source": "rulings"},
    "2.6": {"title": "Empty", "text": "<script>document.title = 'rule'</script>", "source": "</script>"},
}
RUNTIMES = {"onnxruntime": "ONNX Runtime, default threads", "openvino": "OpenVINO CPU", "gatherscatter": "<i>ours</i>"}
HOSTILE = (
    "</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\"> '\"`\\ \u2028 ]]> <!--"
)

# Op version, type, reduction, kind, rules, and the verdict of each runtime.
ROWS = [
    ("onnx.ScatterND-18", "float32", "add", "repeated", ["O3"], "nondeterministic", "differs", "pass"),
    ("onnx.ScatterND-18", "float32", "mul", "repeated", ["O3"], "crashes", "pass", "pass"),
    ("onnx.ScatterND-18", "float16", "add", "plain", ["O3", "2.6"], "refuses", "pass", "pass"),
    ("onnx.ScatterND-18", "int64", "none", "out of range", ["V10"], "pass", "out-of-bounds memory", "pass"),
    ("onnx.ScatterND-18", "float32", "max", "nan", [], "allowed", "differs", "pass"),
    ("onnx.Gather-9", "int64", "none", "plain", ["2.6"], "pass", "narrowed", "pass"),
    ("onnx.Gather-13", "int64", "none", "out of range", ["V10"], "accepts", "hangs", "pass"),
    ("onnx.Gather-13", "string", "none", "plain", ["2.6"], "pass", "not asked", "pass"),
    ("openvino.ScatterUpdate-3", "int64", "none", "plain", [], "not asked", "pass", "pass"),
    ("openvino.ScatterUpdate-3", "float32", "none", "plain", [], "not asked", "pass", "pass"),
]


def sample() -> dict[str, Any]:
    """Return a report with every verdict, an omitted input, a large attribute, an expected error, and hostile texts."""
    cases = [_case(number, *row[:5]) for number, row in enumerate(ROWS)]
    results: dict[str, dict[str, Any]] = {
        runtime: {case["id"]: _result(case, row[5 + column]) for case, row in zip(cases, ROWS, strict=True)}
        for column, runtime in enumerate(RUNTIMES)
    }
    cases[1]["latitude"] = "order of writes is not specified"
    cases[2]["attributes"] = {"axis": -(2**63), "mode": HOSTILE}
    cases[2]["inputs"][1] = None
    cases[3] |= {"expected": None, "error": "IndexError"}
    cases[7]["inputs"][0]["text"] = HOSTILE
    results["openvino"][cases[0]["id"]] |= {"message": HOSTILE, "script": f"print('''{HOSTILE}''')\n"}
    return _report(cases, results) | {"machine": HOSTILE}


def random_report(count: int, runtimes: int, seed: int) -> dict[str, Any]:
    """Return a report of some cases in some runtimes. Each runtime lacks some of the cases."""
    chance = random.Random(seed)
    ops = [
        f"{domain}-{number}"
        for domain, number in product(("onnx.Gather", "onnx.ScatterND", "openvino.Gather"), (1, 7, 13))
    ]
    types = ["float32", "float16", "int64", "string"]
    cases = [
        _case(
            number,
            chance.choice(ops),
            chance.choice(types),
            chance.choice(["none", "add", "mul"]),
            chance.choice(list(KINDS)),
            chance.sample(list(RULES), chance.randrange(3)),
        )
        for number in range(count)
    ]
    weights = [1] * (len(VERDICTS) - 2) + [30, 5]

    def verdict() -> str:
        return chance.choices(list(VERDICTS), weights)[0]

    results = {
        f"runtime-{number}": {case["id"]: _result(case, verdict()) for case in cases if chance.random() < 0.9}
        for number in range(runtimes)
    }
    return _report(cases, results)


def _case(number: int, op: str, type_: str, reduction: str, kind: str, rules: list[str]) -> dict[str, Any]:
    domain, name = op.split(".")
    data = {"name": "data", "type": type_, "shape": [4], "text": f"[{number}, 1, 2, 3]"}
    indices = {"name": "indices", "type": "int64", "shape": [2, 1], "text": "[[1],\n [1]]"}
    return {
        "id": f"{name}/{domain}/{type_}/{reduction}/{kind.replace(' ', '-')}/{number:04x}",
        "op": op,
        "type": type_,
        "reduction": reduction,
        "kind": kind,
        "rules": rules,
        "latitude": "",
        "inputs": [data, indices],
        "attributes": {} if reduction == "none" else {"reduction": reduction},
        "expected": [{"name": "output", "type": type_, "shape": [4], "text": f"[{number}, 7, 2, nan]"}],
        "error": None,
    }


def _result(case: dict[str, Any], verdict: str) -> dict[str, Any]:
    if verdict == "pass":
        return {"verdict": verdict, "got": None, "message": "", "script": ""}
    if verdict == "not asked":
        return {"verdict": verdict, "got": None, "message": "no such operator", "script": ""}
    got = [{"type": case["type"], "shape": [4], "text": case["expected"][0]["text"].replace("7", "8")}]
    script = f"import numpy as np\n\n# {case['id']}\nprint('got', \"{verdict}\")\n"
    if verdict in ("crashes", "hangs", "refuses"):
        return {"verdict": verdict, "got": None, "message": f"it {verdict}\nfor {case['id']}", "script": script}
    return {"verdict": verdict, "got": got, "message": f"element 1 of {case['id']}", "script": script}


def _report(cases: list[dict[str, Any]], results: dict[str, Any]) -> dict[str, Any]:
    verdicts = enumerate(VERDICTS.items(), 1)
    return {
        "format": 1,
        "corpus": "1.0",
        "created": "2026-11-21T20:00:00Z",
        "machine": "a machine of 2 cores",
        "python": "3.11.9",
        "gatherscatter": "0.1.0",
        "verdicts": [{"name": name, "title": title, "severity": number} for number, (name, title) in verdicts],
        "kinds": KINDS,
        "rules": RULES,
        "runtimes": [_runtime(name) for name in results],
        "cases": cases,
        "results": results,
    }


def _runtime(name: str) -> dict[str, Any]:
    title = RUNTIMES.get(name, name.title())
    return {
        "name": name,
        "title": title,
        "package": name,
        "version": "1.2.3",
        "recipe": name == "openvino",
        "seconds": 1.25,
    }
