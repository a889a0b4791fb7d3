"""The corpus of test vectors: its contents, its correct results, and its use by others."""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gatherscatter as gs
import gatherscatter_conformance
import gatherscatter_models as gm
from gatherscatter import oracle
from gatherscatter.operation import SCATTERS, Form, Kernel
from gatherscatter_conformance import build, corpus, store, unspecified
from gatherscatter_conformance.case import KINDS, Case, element_type
from gatherscatter_conformance.exports import FORMATS, about
from gatherscatter_conformance.exports.exported import folder_name
from gatherscatter_conformance.rules import RULES
from tests.support.command_line import fail, succeed
from tests.support.paths import DOCS, ROOT

CASES = corpus.cases()
ROWS = [row for row in gs.ops() if row.kernel != "gather_tree"]
PACKAGE = Path(gs.__file__).parent
ALLOWED = {("gatherscatter", "oracle"), ("gatherscatter.specs", "dtype_of")}  # dtype_of does not need a kernel


# ----------------------------------------------------------------------------------------------- where answers are from


def test_the_oracle_knows_nothing_of_the_package() -> None:
    for path in (PACKAGE / "oracle").glob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        ours = {module for module in imported if module and module.startswith(("gatherscatter", "."))}
        assert all(module.startswith("gatherscatter.oracle.") for module in ours), path.name
        assert imported - ours <= {
            "__future__",
            "collections.abc",
            "dataclasses",
            "fractions",
            "math",
            "numpy",
            "typing",
        }


def test_the_generator_knows_the_oracle_and_no_kernel() -> None:
    paths = list((Path(gatherscatter_conformance.__file__).parent / "themes").glob("*.py"))
    assert len(paths) > 10
    for path in paths:
        text = path.read_text()
        for module, names in re.findall(r"^from (gatherscatter\S*) import (.*)", text, re.M):
            known = module.startswith(("gatherscatter_conformance.", "gatherscatter.oracle"))
            assert known or (module, names) in ALLOWED, path.name


def find_differences(files: dict[str, bytes]) -> list[tuple[str, bytes | None, bytes | None]]:
    """Return the first lines that differ between the members of the shipped file and ``files``.

    An assertion shows them. The comparison of all bytes would print megabytes.
    """
    with zipfile.ZipFile(build.locate_corpus()) as archive:
        shipped = {name: archive.read(name) for name in archive.namelist()}
    assert files.keys() == shipped.keys()
    return [
        next(
            (name, *pair)
            for pair in itertools.zip_longest(content.split(b"\n"), files[name].split(b"\n"))
            if len(set(pair)) > 1
        )
        for name, content in shipped.items()
        if content != files[name]
    ]


@pytest.mark.full
def test_the_shipped_file_is_what_the_generator_makes() -> None:
    made = store.members(build.build(), corpus.VERSION)
    assert find_differences(made) == []
    assert build.locate_corpus().stat().st_size < 1_000_000


def test_it_loads_without_optional_packages() -> None:
    code = """
import sys
for name in ("hypothesis", "onnx", "openvino", "rich"):
    sys.modules[name] = None
from gatherscatter_conformance import corpus, rules
from gatherscatter_conformance import random_calls
print(len(corpus.cases()))
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(printed) == len(CASES)


# -------------------------------------------------------------------------------------------------------- what is in it


def test_ids_are_unique_and_names_of_files() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len({folder_name(case).lower() for case in CASES}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9/_.,-]+", name) for name in ids)
    assert max(map(len, ids)) < 140


@pytest.mark.parametrize(("id", "inputs", "answer"), [
    ("onnx/ScatterND-18/int64/add/example/two-planes-into-one-28f853", 3, None),
    ("onnx/GatherND-13/float32/none/k-0/two-empty-tuples-a31081", 2, None),
    ("onnx/Gather-1/bool/none/plain/four-of-five-546c13", 2, [True, True, True, False]),
    ("openvino/Gather-8/int32/none/example/example-7-24a90a", 3, [4, 0, 0]),
])  # fmt: skip
def test_ids_stay(id: str, inputs: int, answer: Any) -> None:
    """Ids are published. An id never changes its call, and a changed result changes the corpus' version."""
    case = corpus.case(id)
    assert len(case.inputs) == inputs
    assert case.expected is not None
    assert answer is None or case.expected[0].tolist() == answer


def test_an_id_depends_on_the_question_alone() -> None:
    draft = next(iter(build.THEMES[0].drafts()))
    row = oracle.ROWS[draft.op]
    assert build.make_case(draft).id == corpus.case(build.make_case(draft).id).id
    other = build.CaseDraft(draft.op, draft.kind, draft.name, draft.call, ("V1",))
    assert build.make_case(other).id == build.make_case(draft).id
    inputs = [draft.call.inputs[0], *[np.array(x) for x in draft.call.inputs[1:]]]
    inputs[1] = inputs[1] * 0
    changed = build.CaseDraft(draft.op, draft.kind, draft.name, draft.call._replace(inputs=inputs))
    assert row.name == changed.op
    assert build.make_case(changed).id != build.make_case(draft).id
    along = build.CaseDraft(draft.op, draft.kind, draft.name, draft.call._replace(attributes={"axis": 1}))
    assert build.make_case(along).id.rpartition("-")[0] == build.make_case(draft).id.rpartition("-")[0]
    assert build.make_case(along).id != build.make_case(draft).id


def test_an_unknown_id_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match="corpus list"):
        corpus.case("onnx/Gather-99")


def test_every_type_and_reduction_of_every_version_has_cases() -> None:
    """Each element type of each version has a case for each reduction: a result, or a refusal if it does not exist."""
    there = {(case.op, case.type, case.reduction) for case in CASES}
    accepted = {(case.op, case.type) for case in CASES if case.expected is not None}
    for row in gs.ops():
        choices = next((one.choices for one in row.attributes if one.name == "reduction"), None) or ("none",)
        for name in row.element_types:
            assert (row.name, name) in accepted
            for reduction in choices:
                assert (row.name, name, reduction) in there, (row.name, name, reduction)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_index_type_is_taken_or_refused(row: Any) -> None:
    position = [one.kind for one in row.inputs].index("indices")  # the first one
    found: dict[str, set[bool]] = {}
    for case in corpus.cases(op=row.name):
        indices = case.inputs[position]
        if indices is not None and case.kind == "index type":
            found.setdefault(element_type(indices), set()).add(case.expected is not None)
    every = ("int32", "uint64", "float32") if row.kernel == "tensor_scatter" else (*oracle.INTEGERS, "float32", "bool")
    for name in every:
        assert found[name] >= {name in row.index_types}, name


def test_every_rule_and_kind_has_cases() -> None:
    assert {rule for case in CASES for rule in case.rules} == set(RULES)
    assert {case.kind for case in CASES} == set(KINDS)


@pytest.mark.parametrize("row", gs.ops(), ids=lambda row: row.name)
def test_every_version_has_the_edges_that_concern_it(row: Any) -> None:
    wanted = {"bags" if row.kernel == "gather_reduce" else "plain", "empty", "type", "out of range"}
    if row.kernel == "gather_reduce":
        wanted |= {"index type", "scalar", "shape", "slices", "repeated", "nan", "zero sign", "rounding", "wrap-around"}
    elif row.kernel not in ("gather_tree", "tensor_scatter"):
        wanted |= {"negative", "index type", "scalar", "long axis", "wide values", "attribute"}
        wanted |= {"k=0", "shape", "slices"} if Kernel(row.kernel).form == Form.TUPLES else {"axis"}
        wanted |= {"box", "shape"} if Kernel(row.kernel).form == Form.LANES else set()
        wanted |= {"repeated", "many updates", "shape"} if row.kernel in SCATTERS else set()
        wanted -= {"wide values"} if row.kernel == "gather_quantized" else set()
    if any(one.name == "batch_dims" for one in row.attributes):
        wanted.add("batch dims")
    if any(one.name == "reduction" for one in row.attributes):
        wanted |= {"nan", "zero sign", "rounding", "wrap-around"}
    assert wanted <= {case.kind for case in CASES if case.op == row.name}


def test_rules_are_those_of_the_documentation() -> None:
    page, _, _ = (DOCS / "rulings.md").read_text(encoding="utf-8").partition("## What the judges say")
    table = {
        id: (title, ruling) for id, title, ruling in re.findall(r"^\| ([OVM]\d+) \| (.*?) \| (.*?) \|", page, re.M)
    }
    assert len(table) == 28 + 31 + 8
    assert table == {id: (rule.title, rule.ruling) for id, rule in RULES.items() if re.fullmatch(r"[OVM]\d+", id)}
    assert all(rule.text and rule.source for rule in RULES.values())


def test_sections_that_rules_cite_are_in_the_specification() -> None:
    page = (DOCS / "specification.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^#+ (\d+\.\d+) ", page, re.M))
    cited = {id for id in RULES if id[0].isdigit()}
    assert cited
    assert cited <= headings


# -------------------------------------------------------------------------------------------------- whether it is right


def outcome(case: Case) -> np.ndarray | Exception:
    """Return this package's result for a case."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Scatter-11
            return gs.op(case.op)(*case.inputs, **case.attributes)
    except (IndexError, TypeError, ValueError) as error:
        return error


def test_this_package_passes_every_case() -> None:
    wrong = []
    for case in CASES:
        result = outcome(case)
        if isinstance(result, Exception):
            fits = case.error in {kind.__name__ for kind in type(result).__mro__}
        else:
            fits = corpus.same(result, case)
        wrong += [] if fits else [case.id]
    assert not wrong


def by_hand(pattern: str, label: str) -> Any:
    [case] = [
        one
        for one in corpus.cases(pattern)
        if f"/{label}-" in one.id and len(one.id.rpartition("/")[2]) == len(label) + 7
    ]
    return case.error if case.expected is None else case.expected[0].astype(object).tolist()


def test_answers_by_hand() -> None:
    """Check results of the rulings that were computed by hand."""
    assert by_hand("openvino/ScatterElementsUpdate-12/int32/mean/*", "of-m8-m5-m6") == [1, -7, 1]  # floor(-19 / 3)
    assert by_hand("openvino/ScatterElementsUpdate-12/int32/mean/*", "of-m8-m5-m6-without-data") == [1, -6, 1]
    assert by_hand("openvino/ScatterElementsUpdate-12/int8/mean/*", "of-hundreds") == [1, 100, 1]
    assert by_hand("openvino/ScatterElementsUpdate-12/float32/max/initial-value/*", "minus-infinity") == [
        1,
        -math.inf,
        1,
    ]
    assert by_hand("onnx/ScatterND-18/float16/add/*", "where-counting-stops") == [1, 2048, 1]
    assert by_hand("openvino/ScatterNDUpdate-15/float16/sum/*", "where-counting-stops") == [1, 2050, 1]
    assert by_hand("onnx/ScatterND-18/bfloat16/add/*", "where-counting-stops") == [1, 256, 1]
    assert by_hand("onnx/ScatterElements-18/string/add/plain/*", "three-of-six") == [
        "antant'",
        "bee",
        "catbee'",
        "dog",
        "eelhen",
        "fox",
    ]
    assert by_hand("openvino/ScatterNDUpdate-15/uint8/sub/*", "below-the-bottom") == [1, 255, 1]
    assert by_hand("openvino/ScatterNDUpdate-15/bool/sub/*", "truth-table") == [False, True, True, False]
    assert by_hand("onnx/GatherElements-13/float32/none/out-of-range/*", "3-of-three") == "IndexError"
    assert by_hand("openvino/Gather-8/float32/none/out-of-range/*", "4294967297-of-three") == [2, 0]
    assert by_hand("openvino/Gather-8/string/none/out-of-range/*", "3-of-three") == ["bee", ""]
    assert by_hand("openvino/GatherND-8/int64/none/out-of-range/*", "empty-slices-out-of-range") == "IndexError"
    assert by_hand("onnx/ScatterND-13/float32/none/attribute/*", "reduction-none") == "ValueError"
    assert by_hand("onnx/ScatterND-16/float32/none/attribute/*", "reduction-max") == "ValueError"
    assert by_hand("onnx/ScatterND-18/complex64/max/plain/*", "three-of-six") == "TypeError"
    assert by_hand("onnx/ScatterND-18/float32/add/many-updates/*", "300000-to-one-place") == [300000]
    assert by_hand("openvino/GatherElements-6/float32/none/box/*", "shorter-off-the-axis") == "ValueError"
    assert by_hand("onnx/GatherElements-13/float32/none/box/*", "shorter-off-the-axis") == [[3, 1, 2]]


def test_build_refuses_an_answer_that_is_not_the_printed_one() -> None:
    draft = next(draft for draft in build.THEMES[0].drafts() if draft.stated is not None)
    with pytest.raises(ValueError, match="the oracle gives"):
        build.make_case(build.CaseDraft(draft.op, draft.kind, draft.name, draft.call, stated=[1]))


# -------------------------------------------------------------------------------------------- what the text leaves open


def test_what_is_open() -> None:
    def reasons(pattern: str, **filters: str) -> set[str]:
        found = corpus.cases(pattern, **filters)
        assert found
        return {case.latitude.partition(":")[0] for case in found}

    assert reasons("onnx/ScatterND-18/int32/none/repeated/*") == {"O3"}
    assert reasons("onnx/ScatterND-18/int32/add/repeated/*") == {""}
    assert reasons("onnx/ScatterND-18/float32/add/*/where-counting-stops-by-one-*") == {
        ""
    }  # a single sum: there is no order
    assert reasons("onnx/ScatterND-18/float16/add/rounding/where-counting-stops-??????") == {"O16, V19"}
    assert reasons("onnx/ScatterND-18/float32/add/rounding/large-and-small-*") == {"O27"}
    assert reasons("onnx/ScatterND-18/float32/add/many-updates/*") == {""}  # only ones: exact in every order
    assert reasons("onnx/ScatterND-18/float64/max/nan/nan-in-*") == {"O12, V17"}
    assert reasons("onnx/ScatterND-18/float64/add/nan/nan-in-*") == {""}
    assert reasons("openvino/ScatterElementsUpdate-12/float32/m[ai][nx]/initial-value/one-nan-*") == {"O12, V17"}
    assert reasons("onnx/ScatterND-18/int8/add/wrap-around/*") == {"2.10", ""}
    assert reasons("onnx/ScatterND-18/int8/add/wrap-around/there-and-back-*") == {""}
    assert reasons("onnx/Scatter-11/*") == {"O24"}
    assert reasons("onnx/GatherND-13/*", kind="k=0") == {"O7"}
    assert reasons("onnx/ScatterND-18/*/none/k-0/one-empty-*") == {""}
    assert reasons("onnx/GatherElements-13/*", kind="out of range") == {""}  # "it is an error"
    assert reasons("onnx/ScatterND-18/*", kind="out of range") == {"O28"}
    assert reasons("openvino/ScatterElementsUpdate-12/*", kind="out of range") == {""}  # "exception is raised"
    assert reasons("openvino/ScatterElementsUpdate-12/int*/mean/*/of-m8-and-m5-*") == {""}  # rounded down
    assert reasons("openvino/ScatterElementsUpdate-12/int*/mean/*/of-m8-m5-m6-??????") == {""}  # so pairwise, too
    assert reasons("openvino/ScatterElementsUpdate-12/int*/mean/*/of-1-2-4-8-??????") == {"V10"}
    assert reasons("openvino/GatherND-8/*/of-size-1-and-4-*") == {"V3"}
    assert reasons("openvino/EmbeddingBagPacked-15/*/mean/empty/bags-of-no-members-*") == {"V27"}
    assert reasons("openvino/EmbeddingBagPacked-15/*/sum/empty/bags-of-no-members-*") == {""}
    assert reasons("openvino/GatherTree-1/bool/none/plain/*") == {"V18"}
    assert reasons("*", kind="wide values") <= {"", "2.10", "O24"}
    assert {reason.split(":")[0] for reason in unspecified.REASONS.values()} >= {"O3", "O27", "2.10"}


def test_the_sign_of_zero_counts_unless_a_minimum_is_of_both_or_a_bag_of_negative_ones() -> None:
    free = [case for case in CASES if case.relation == "zero sign free"]
    bags = {case.id for case in free if "/Embedding" in case.id}
    assert bags == {case.id for case in corpus.cases("openvino/Embedding*/zero-sign/bags-of-zeros-*")}
    assert {case.reduction for case in free if case.id not in bags and "SegmentMax" not in case.op} == {"min", "max"}
    [case] = corpus.cases("onnx/ScatterND-18/float32/max/zero-sign/minus-zero-to-zero-*")
    assert case.expected is not None
    assert corpus.same(-case.expected[0] * np.array([-1, 1, -1], np.float32), case)


def test_same() -> None:
    case = corpus.cases("onnx/GatherND-13/float32/none/plain/edges-of-the-type-*")[0]
    assert case.expected is not None
    [right] = case.expected
    assert np.isnan(right).any()
    assert corpus.same(right, case)
    assert corpus.same([right], case)
    assert not corpus.same([right, right], case)
    payload = right.copy()
    payload.view(np.uint32)[np.isnan(right)] = 0xFFC00001
    assert corpus.same(payload, case)
    positive = np.where(right == 0, np.float32(0), right)
    assert not corpus.same(positive, case)
    assert not corpus.same(right.astype(np.float64), case)
    assert not corpus.same(right.view(np.int32), case)
    assert not corpus.same(right[None], case)
    refused = next(case for case in CASES if case.error)
    assert not corpus.same(right, refused)
    text = corpus.cases("onnx/GatherND-13/string/none/plain/four-of-five-*")[0]
    assert text.expected is not None
    assert corpus.same(text.expected[0].astype(str), text)
    assert not corpus.same(text.expected[0][::-1], text)


def test_arrays_are_the_callers() -> None:
    case = corpus.cases("onnx/GatherND-13/float32/none/plain/four-of-five-*")[0]
    assert all(array is not None and array.flags.owndata and array.flags.writeable for array in case.inputs)


# ----------------------------------------------------------------------------------------------------- filters, command


def test_filters() -> None:
    assert {case.op for case in corpus.cases(op="onnx.ScatterND")} == {f"onnx.ScatterND-{v}" for v in (11, 13, 16, 18)}
    chosen = corpus.cases("onnx/*", op="onnx.ScatterND-18", type="bfloat16", reduction="max", kind="nan", rule="O12")
    assert chosen
    assert all((case.type, case.reduction, case.kind) == ("bfloat16", "max", "nan") for case in chosen)


def test_command_list() -> None:
    listed = succeed("corpus", "list", "--op", "onnx.GatherND-13", "--kind", "k=0").splitlines()
    assert len(listed) == len(corpus.cases(op="onnx.GatherND-13", kind="k=0"))
    assert "onnx/GatherND-13/float32/none/k-0/two-empty-tuples-a31081  result  open  2.4 O7" in listed
    counted = succeed("corpus", "list", "--count")
    assert f"{len(CASES):,} cases" in counted
    assert re.search(r"^repeated +\d+ +several updates to one target$", counted, re.M)
    assert "there is no kind 'foo'; there are plain, example" in fail("corpus", "list", "--kind", "foo")


def test_command_export(tmp_path: Path) -> None:
    done = succeed("corpus", "export", tmp_path / "new", "--format", "json", "--case", "onnx/Gather-1/int8/*")
    assert done == f"written: {len(corpus.cases('onnx/Gather-1/int8/*'))} cases to {tmp_path / 'new'}\n"
    assert "is not empty" in fail("corpus", "export", tmp_path / "new", "--format", "json")
    other = succeed("corpus", "export", tmp_path / "ir", "--format", "openvino", "--type", "int4")
    irs = [case.op.startswith("openvino.") for case in corpus.cases() if case.type == "int4"]
    skipped = irs.count(False), irs.count(True)
    assert f"skipped: {skipped[0]:,} ONNX cases (use --format onnx for them)\n" in other
    assert f"skipped: {skipped[1]:,} cases of int4, which gatherscatter does not write to IRs\n" in other
    with pytest.raises(ValueError, match="format must be one of 'onnx'"):
        corpus.export(tmp_path / "none", "xml")


# -------------------------------------------------------------------------------------------------------------- exports


def test_export_json(tmp_path: Path) -> None:
    """Read the export with only JSON and NumPy's constructors."""
    seen: list[str] = []
    assert corpus.export(tmp_path, "json", progress=seen.append).written == len(CASES) == len(seen)
    index = json.loads((tmp_path / "corpus.json").read_text(encoding="utf-8"))
    assert (index["format"], index["version"]) == (1, corpus.VERSION)
    for case, record in zip(CASES, index["cases"], strict=True):
        assert record["id"] == case.id
        answers = record["expected"] or []
        for array, tensor in zip(
            (*case.inputs, *(case.expected or ())), (*record["inputs"].values(), *answers), strict=True
        ):
            assert (array is None) == (tensor is None)
            if array is not None:
                read = from_json(tensor)
                assert (read.dtype, read.shape) == (array.dtype, array.shape)
                assert (read == array).all() if array.dtype == object else same_bits(read, array)


def from_json(tensor: dict[str, Any]) -> np.ndarray:
    name = tensor["type"]
    dtype = np.dtype(object if name == "string" else getattr(ml_dtypes, name, None) or name)
    values = tensor["values"]
    if dtype.kind == "c":
        values = [complex(float(real), float(imaginary)) for real, imaginary in values]
    elif dtype.kind in "iu":
        values = [int(value) for value in values]
    elif name not in ("string", "bool"):
        values = [float(value) for value in values]
    return np.array(values, dtype).reshape(tensor["shape"])


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        oracle.make_comparable_elements(one, True) == oracle.make_comparable_elements(other, True)
        if one.size < 1000
        else bool((one == other).all())
    )


def test_export_npz(tmp_path: Path) -> None:
    assert corpus.export(tmp_path, "npz").written == len(CASES)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name not in about.FILES}
    assert find_differences(files) == []


@pytest.mark.parametrize("format", FORMATS)
def test_exported_cases_say_what_they_are(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The export has a README, a licence and a version. The code in its README reads a case."""
    if format == "onnx":
        pytest.importorskip("onnx")
    words = (
        "--format",
        format,
        "--op",
        "onnx.Gather-13",
        "--op",
        "openvino.Gather-8",
        "--kind",
        "plain",
        "--type",
        "float32",
    )
    succeed("corpus", "export", tmp_path / "vectors", *words)
    monkeypatch.chdir(tmp_path / "vectors")
    cases = [*corpus.cases(op="onnx.Gather-13", kind="plain", type="float32")] if format != "openvino" else []
    cases += corpus.cases(op="openvino.Gather-8", kind="plain", type="float32") if format != "onnx" else []
    facts = json.loads(Path("export.json").read_text(encoding="utf-8"))
    assert (facts["corpus"], facts["format"], facts["cases"]) == (corpus.VERSION, format, len(cases))
    command = f"gatherscatter corpus export vectors {' '.join(words)}"
    assert facts["command"] == command
    assert Path("LICENSE").read_text(encoding="utf-8") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    text = Path("README.md").read_text(encoding="utf-8")
    for said in (f"| corpus version | {corpus.VERSION}.", f"{len(cases)} cases: ", f"`{command}`", "Apache-2.0"):
        assert said in text
    names: dict[str, Any] = {}
    [code] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(code, names)
    case = next(case for case in cases if case.id == names.get("facts", names.get("case"))["id"])
    expected = names["expected"] if format == "openvino" else names["expected"][0]
    assert corpus.same(from_json(expected) if format == "json" else expected, case)


SAMPLE = [
    case for case in corpus.cases("onnx/*")
    if case.kind == "example" or case.type == "string" or case.op in ("onnx.TensorScatter-24", "onnx.GatherElements-13")
]  # fmt: skip


def test_export_onnx(tmp_path: Path) -> None:
    """ONNX's loader finds the tests, its checker accepts the models, and the tensors equal those of the corpus."""
    onnx = pytest.importorskip("onnx")
    from onnx.backend.test.loader import load_model_tests

    assert corpus.export(tmp_path, "onnx", cases=SAMPLE).written == len(SAMPLE)
    found = {test.name: test for kind in ("results", "errors") for test in load_model_tests(str(tmp_path), kind)}
    assert set(found) == {folder_name(case) for case in SAMPLE}
    for case in SAMPLE:
        test = found[folder_name(case)]
        assert (test.rtol, test.atol, test.kind == "errors") == (0, 0, case.expected is None)
        own = Path(test.model_dir)
        model = onnx.load(own / "model.onnx")
        facts = json.loads((own / "data.json").read_text())
        assert (facts["id"], facts["latitude"], facts["error"]) == (case.id, case.latitude, case.error)
        read = {path.name: onnx.load_tensor(path) for path in (own / "test_data_set_0").iterdir()}
        given = [array for array in case.inputs if array is not None]
        for prefix, arrays in (("input", given), ("output", case.expected or ())):
            for number, array in enumerate(arrays):
                tensor = read.pop(f"{prefix}_{number}.pb")
                value = onnx.numpy_helper.to_array(tensor)
                assert (
                    value.astype(object).tolist() == array.tolist()
                    if array.dtype == object
                    else same_bits(value, array)
                )
        assert not read
        if case.expected is not None and case.op != "onnx.Scatter-11":
            onnx.checker.check_model(model, full_check=True)


def test_onnxruntime_runs_the_exported_models(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    cases = [case for case in corpus.cases("onnx/*", kind="example") if case.op != "onnx.Scatter-11"]
    corpus.export(tmp_path, "onnx", cases=cases)
    for case in cases:
        own = tmp_path / "results" / folder_name(case)
        session = runtime.InferenceSession(own / "model.onnx")
        tensors = [onnx.load_tensor(path) for path in sorted((own / "test_data_set_0").glob("input_*"))]
        feeds = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tensors}
        assert corpus.same(session.run(None, feeds), case), case.id


def test_openvino_runs_the_exported_models(tmp_path: Path) -> None:
    """Run the examples except two in which OpenVINO departs: an index below -s, and a scalar index of ScatterUpdate."""
    from tests.support.openvino_package import run_in_openvino

    departs = (  # and an empty bag at the end
        "openvino/Gather-8/int32/none/example/example-7-",
        "openvino/ScatterUpdate-3/float32/none/example/formula-1-",
    )
    cases = [
        case for case in corpus.cases("openvino/*", kind="example") if case.expected and not case.id.startswith(departs)
    ]
    cases += corpus.cases("openvino/GatherTree-1/float32/none/beams/*")[:1]
    assert {case.op for case in cases} >= {"openvino.Gather-8", "openvino.GatherND-5", "openvino.ScatterNDUpdate-3"}
    corpus.export(tmp_path, "openvino", cases=cases)
    for case in cases:
        own = tmp_path / "results" / folder_name(case)
        inputs = {path.stem: np.load(path) for path in own.glob("*.npy") if path.stem != "output"}
        [answer] = run_in_openvino(own / "model.xml", inputs)
        assert corpus.same(answer, case), case.id
        assert corpus.same(np.load(own / "output.npy"), case)


def test_our_own_reader_runs_the_exported_irs(tmp_path: Path) -> None:
    cases = [case for case in corpus.cases("openvino/*", kind="slices") if case.type != "bfloat16"]
    cases += corpus.cases("openvino/*/string/none/plain/*")
    done = corpus.export(tmp_path, "openvino", cases=cases)
    assert done.written == len(cases)
    for case in cases:
        own = tmp_path / "results" / folder_name(case)
        inputs = {path.stem: np.load(path) for path in own.glob("*.npy") if path.stem != "output"}
        assert corpus.same(gm.run(own / "model.xml", inputs)["output"], case), case.id
