"""ONNX Runtime with this package's operators runs the whole corpus without a departure."""

from __future__ import annotations

from collections import Counter

import pytest

from gatherscatter_conformance import corpus
from gatherscatter_conformance.run import conform

pytestmark = pytest.mark.full

NAME = "gatherscatter-onnxruntime"


def test_the_library_departs_in_no_case() -> None:
    pytest.importorskip("onnxruntime")
    report = conform([NAME], corpus.cases("onnx/*"))
    judgements = report.results[NAME]
    bad = {id: each.verdict for id, each in judgements.items() if each.verdict not in ("pass", "allowed", "not asked")}
    assert bad == {}
    not_asked = Counter(each.message for each in judgements.values() if each.verdict == "not asked")
    assert not_asked == {
        "it has no tensors of complex numbers": 164,
        "its custom operators take no float8_e8m0fnu": 4,
        "its custom operators can't detect unknown attributes": 36,
    }
