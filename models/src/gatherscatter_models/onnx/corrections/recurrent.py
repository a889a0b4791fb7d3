"""LSTM, GRU and RNN over sequences of different lengths.

Those of the reference evaluator (onnx 1.23) run all sequences of a batch to the end, and ignore some attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun
from onnx.reference.ops import load_op

_COMPUTED = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"]}  # for any value of the attribute


class _Recurrent(OpRun):
    """Runs each sequence separately if their lengths differ."""

    op_domain = ""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        kind = onnx_node.op_type
        self.reference: Any = load_op("", kind, run_params["opsets"][""])(onnx_node, run_params)
        asked = [name.lower() for name in getattr(self, "activations", None) or []]
        computed = _COMPUTED.get(kind, asked[:1])
        if asked not in ([], computed, 2 * computed):
            raise NotImplementedError(f"{kind} with activations {', '.join(asked)} isn't supported")
        for name in ("clip", "input_forget"):
            if getattr(self, name, None):
                raise NotImplementedError(f"{kind} with {name} isn't supported")

    def _run(
        self,
        x: np.ndarray,
        weight: np.ndarray,
        recurrence: np.ndarray,
        bias: np.ndarray | None = None,
        lengths: np.ndarray | None = None,
        *state: np.ndarray | None,  # initial_h, and for LSTM initial_c and P
        **attributes: Any,
    ) -> Any:
        def steps(x: np.ndarray, state: Sequence[np.ndarray | None]) -> Any:
            return self.reference._run(x, weight, recurrence, bias, None, *state, **attributes)

        time, batch = (1, 0) if attributes.get("layout") else (0, 1)
        if lengths is None or (lengths == x.shape[time]).all():
            return steps(x, state)
        sequences = []
        for at, length in enumerate(lengths):
            own = np.take(x, [at], axis=batch).take(np.arange(length), axis=time)
            begin = [value if value is None else np.take(value, [at], axis=batch) for value in state[:2]]
            whole, *last = steps(own, [*begin, *state[2:]])
            rest = [(0, x.shape[time] - length if axis == time else 0) for axis in range(whole.ndim)]
            sequences.append([np.pad(whole, rest), *last])
        batches = (2 * batch, batch, batch)  # the batch dimensions of the outputs
        return tuple(
            np.concatenate(parts, axis=axis) for axis, parts in zip(batches, zip(*sequences, strict=True), strict=False)
        )


RECURRENT = [type(op_type, (_Recurrent,), {"__module__": __name__}) for op_type in ("LSTM", "GRU", "RNN")]
