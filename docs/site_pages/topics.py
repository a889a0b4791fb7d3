"""The topics of the page "Differences", each with the cases of the corpus that show it."""

from __future__ import annotations

from dataclasses import dataclass

from gatherscatter_conformance import corpus
from gatherscatter_conformance.case import Case


@dataclass(frozen=True)
class Topic:
    """A topic, and the cases of the corpus that show it: a pattern of ids for each call."""

    title: str
    text: str
    calls: tuple[tuple[str, ...], ...]

    def cases(self) -> list[list[Case]]:
        """The cases of each call."""
        return [[case for pattern in call for case in corpus.cases(pattern)] for call in self.calls]


def _calls(name: str, *parts: str) -> tuple[tuple[str, ...], ...]:
    """The same case of each of these operators, ONNX's and OpenVINO's together."""
    pairs = {
        "gather": ("onnx/Gather-13", "openvino/Gather-8"),
        "gather_elements": ("onnx/GatherElements-13", "openvino/GatherElements-6"),
        "gather_nd": ("onnx/GatherND-13", "openvino/GatherND-8"),
        "scatter_elements": ("onnx/ScatterElements-18", "openvino/ScatterElementsUpdate-12"),
        "scatter_nd": ("onnx/ScatterND-18", "openvino/ScatterNDUpdate-15"),
    }
    names = (name, name.replace("/add/", "/sum/"))  # as the two call it
    return tuple(tuple(f"{op}/{its}-??????" for op, its in zip(pairs[part], names, strict=True)) for part in parts)


_GATHERS = ("gather", "gather_elements", "gather_nd")
_SCATTERS = ("scatter_elements", "scatter_nd")
TOPICS = (
    Topic(
        "An index beyond the end",
        "gatherscatter raises an `IndexError` that names the position. `mode=` selects another rule.",
        _calls("float32/none/out-of-range/8-of-three", *_GATHERS, *_SCATTERS),
    ),
    Topic(
        "An index that 32 bits don't hold",
        "The lower 32 bits of 4294967297 are 1.",
        _calls("float32/none/out-of-range/4294967297-of-three", *_GATHERS, *_SCATTERS),
    ),
    Topic(
        "A negative index",
        "ONNX and newer versions of OpenVINO count it from the end.",
        _calls("float32/none/negative/at-m4-3-m2", *_GATHERS, *_SCATTERS),
    ),
    Topic(
        "An index below -size",
        "",
        _calls("float32/none/out-of-range/m9-of-three", *_GATHERS, *_SCATTERS),
    ),
    Topic(
        "Several updates to one target",
        "ONNX calls repeated indices without a reduction an error of the caller and leaves the result open. In "
        "gatherscatter the last update always wins.",
        (
            *_calls("float32/none/repeated/two-targets-twice", *_SCATTERS),
            *_calls("float32/add/repeated/two-targets-twice", "scatter_nd"),
        ),
    ),
    Topic(
        "Thousands of updates to seven targets",
        "Threads may race for these targets.",
        _calls("float32/none/many-updates/10000-to-7-places", "scatter_nd")
        + _calls("float32/add/many-updates/10000-to-7-places", "scatter_nd"),
    ),
    Topic(
        "NaN in a maximum",
        "No specification defines the maximum of a NaN. In gatherscatter it is NaN, in any order.",
        _calls("float32/max/nan/a-number-then-nan", *_SCATTERS)
        + _calls("float32/max/nan/nan-then-a-number", *_SCATTERS)
        + _calls("float32/max/nan/nan-in-data", "scatter_nd"),
    ),
    Topic(
        "Sums of halves",
        "The calls add 2048 + 1 + 1 in float16, and 256 + 1 + 1 in bfloat16. If each step is rounded, the sum does not "
        'grow. If the sum is rounded once, it grows. `accumulate="wide"` or `"exact"` rounds once.',
        _calls("float16/add/rounding/where-counting-stops", *_SCATTERS)
        + _calls("bfloat16/add/rounding/where-counting-stops", *_SCATTERS),
    ),
    Topic(
        "A mean of integers that is not whole",
        "gatherscatter rounds down, as OpenVINO's specification says.",
        (("openvino/ScatterElementsUpdate-12/int32/mean/mean/of-m8-and-m5-??????",),),
    ),
)
