"""Results with a size that an index decides: errors and warnings name the index."""

from __future__ import annotations

import re

import pytest

import gatherscatter as gs

torch = pytest.importorskip("torch")

FAR = 10**12
IDS = [0, 3, FAR, 1]


def test_segments_of_torch() -> None:
    from gatherscatter.torch import gather_reduce, segment

    src, index = torch.ones(4, 2), torch.tensor(IDS)
    for name in segment.__all__:
        function = getattr(segment, name)
        if name == "gather_coo" or (name.endswith("csr") and name != "gather_csr"):
            continue  # the sizes of their results are those of inputs
        inputs, value = (src, index), "index[2] = 1000000000000 decides its size; with dim_size"
        if name == "gather_csr":
            inputs, value = (src[:2], torch.tensor([0, 3, FAR])), "indptr[2] = 1000000000000 decides its size"
        how = {"dim": 0} if name.startswith("scatter") else {}
        with pytest.raises(gs.OpMemoryError, match=re.escape(value)) as caught:
            function(*inputs, **how)
        assert str(caught.value).startswith(f"{name}: ")
    for data in (src, src.requires_grad_()):
        with pytest.raises(gs.OpMemoryError, match=r"segment_ids\[2\] = 1000000000000 decides its size"):
            gather_reduce(data, segment_ids=index)


def test_a_very_large_result_of_torch_is_a_warning() -> None:
    from gatherscatter.torch import segment

    src, index = torch.ones(2, 2), torch.tensor([0, 14 * 10**7])
    with pytest.warns(RuntimeWarning, match=r"scatter_sum: .*index\[1\] = 140000000 decides its size") as caught:
        assert segment.scatter_sum(src, index, dim=0)[-1].tolist() == [1, 1]
    assert caught[0].filename == __file__
