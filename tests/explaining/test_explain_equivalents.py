"""The code that `gs.explain` gives for other libraries runs and gives the same result."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining.equivalents import LIBRARIES
from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case

PACKAGES = {"numpy": "numpy", "pytorch": "torch", "jax": "jax", "tensorflow": "tensorflow", "einx": "einx"}
# Only one in this number of cases runs, because JAX and TensorFlow compile each case.
EVERY = {"numpy": 1, "pytorch": 1, "jax": 43, "tensorflow": 7, "einx": 3}
# Comments that announce a different result.
TOLD = ("leaves open which update remains", "rounds once; here every step", "sums beyond 64 bits", "loses some NaN")


def _cases(library: str) -> Iterator[Case]:
    for case in corpus.cases()[:: EVERY[library]]:
        subnormal = library == "jax" and "underflow" in case.id  # XLA flushes them to zero
        subnormal |= library == "jax" and "SegmentMax" in case.op and case.kind == "nan"  # a number is, too
        if case.expected is not None and not subnormal:
            yield case


def _into_torch(array: np.ndarray) -> Any:
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _out_of_torch(result: Any, dtype: np.dtype[Any]) -> np.ndarray:
    import torch

    if result.dtype == torch.bfloat16:
        return result.contiguous().view(torch.int16).numpy().view(dtype)
    return result.numpy()


def _into_jax(array: np.ndarray) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(array)


def _into_tensorflow(array: np.ndarray) -> Any:
    import tensorflow as tf

    return tf.constant(array)


def _out_of_tensorflow(result: Any, dtype: np.dtype[Any]) -> np.ndarray:
    array = np.asarray(result.numpy())
    if dtype.kind != "O":
        return array.view(dtype) if array.dtype.itemsize == dtype.itemsize else array
    return np.array([text.decode() for text in array.reshape(-1)], object).reshape(array.shape)


INTO: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": np.copy, "pytorch": _into_torch, "jax": _into_jax, "tensorflow": _into_tensorflow, "einx": np.copy
}  # fmt: skip
OUT_OF: dict[str, Callable[[Any, np.dtype[Any]], np.ndarray]] = {
    "pytorch": _out_of_torch,
    "tensorflow": _out_of_tensorflow,
}


@pytest.fixture
def wide_jax() -> Iterator[None]:
    """JAX with 64 bits, if it is installed. The previous setting is restored."""
    if importlib.util.find_spec("jax") is None:
        yield
        return
    config = importlib.import_module("jax").config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    yield
    config.update("jax_enable_x64", before)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("wide_jax")
@pytest.mark.parametrize("library", LIBRARIES)
def test_code_for_a_library_does_the_same_on_the_corpus(library: str) -> None:
    pytest.importorskip(PACKAGES[library])
    ran = 0
    for case in _cases(library):
        explanation = gs.explain(case.op, *case.inputs, **case.attributes)
        other = explanation.equivalents[library]
        if other.code is None:
            assert other.reason, case.id
            continue
        table = explanation.call.table
        arrays = explanation.call.arrays if table is None else table[1]
        names = {name: INTO[library](array) for name, array in arrays.items()}
        with np.errstate(all="ignore"):
            exec(other.code, names)
        convert = OUT_OF.get(library, lambda result, dtype: np.asarray(result))
        got = convert(names["output"], case.expected[0].dtype)
        assert corpus.same(got, case) or any(text in other.code for text in TOLD), (case.id, other.code, got)
        ran += 1
    assert ran > 100


def test_numpy_has_code_for_every_operator() -> None:
    for row in gs.ops():
        cases = [case for case in corpus.cases(op=row.name) if case.expected is not None]
        codes = [gs.explain(case.op, *case.inputs, **case.attributes).equivalents["numpy"].code for case in cases[:20]]
        assert all(codes), row.name


@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("numpy", "import numpy as np\noutput = data[tuple(np.moveaxis(indices, -1, 0))]"),
        ("pytorch", "import torch\noutput = data[indices.unbind(-1)]"),
        ("tensorflow", "import tensorflow as tf\noutput = tf.gather_nd(data, indices)"),
        (
            "einx",
            "import einx\n# bad indices mean what they mean to the library of the arrays\n"
            'output = einx.get_at("[a b], i [2] -> i", data, indices)',
        ),
    ],
)
def test_code_is_what_one_would_write(library: str, code: str) -> None:
    assert gs.explain("gather_nd", [[1, 2]], [[0, 1]]).equivalents[library].code == code


def test_differences_are_comments_where_the_call_meets_them() -> None:
    def codes(*call: Any, **attributes: Any) -> dict[str, str]:
        return {key: other.code or "" for key, other in gs.explain(*call, **attributes).equivalents.items()}

    negative = codes("gather_elements", [1, 2], [-1])
    assert "indices < 0" in negative["pytorch"]
    assert "indices < 0" in negative["tensorflow"]
    assert "#" not in codes("gather_elements", [1, 2], [0])["pytorch"]
    repeated = codes("scatter_nd", [1, 2], [[0], [0]], [3, 4])
    assert all("repeated indices" in repeated[key] for key in ("pytorch", "jax", "tensorflow"))
    assert "repeated" not in codes("scatter_nd", [1, 2], [[0], [1]], [3, 4])["pytorch"]
    assert "would take negative indices from the end" in codes("openvino.Gather-1", [1, 2], [0], 0)["numpy"]


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("library", ["numpy", "pytorch"])
def test_modes_of_array_functions(library: str, mode: str) -> None:
    pytest.importorskip(PACKAGES[library])
    for call in (("gather", [1, 2, 3], [7, -8, 0]), ("gather_nd", [[1, 2], [3, 4]], [[5, -7], [0, 1]])):
        explanation = gs.explain(*call, mode=mode)
        names = {name: INTO[library](array) for name, array in explanation.call.arrays.items()}
        exec(explanation.equivalents[library].code or "", names)
        np.testing.assert_array_equal(np.asarray(names["output"]), explanation.result)


def test_a_library_that_has_nothing_like_it_says_why() -> None:
    others = gs.explain("scatter_nd", [1, 2], [[0]], [3], reduction="mul").equivalents
    assert (others["tensorflow"].code, others["tensorflow"].reason) == (
        None,
        "TensorFlow has no tensor_scatter_nd for mul",
    )
    assert others["einx"].reason == "einx has no mul_at"


@pytest.mark.usefixtures("wide_jax")
@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_a_sum_without_data_keeps_the_sign_of_zero(library: str) -> None:
    pytest.importorskip(PACKAGES[library])
    explanation = gs.explain("scatter_nd", [1.0, 2.0], [[0]], [-0.0], reduction="add", include_self=False)
    names = {name: INTO[library](array) for name, array in explanation.call.arrays.items()}
    exec(explanation.equivalents[library].code or "", names)
    assert np.signbit(np.asarray(names["output"])).tolist() == np.signbit(explanation.result).tolist() == [True, False]
