"""The interface of ``onnxruntime.InferenceSession``, with our kernels for what ONNX Runtime gets wrong or refuses."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from gatherscatter.model_interface import ModelError
from gatherscatter.onnx.extra import onnx
from gatherscatter.onnx.graph import FAMILY, one_line, walk
from gatherscatter.onnx.model import tensor_info
from gatherscatter.onnx.session.cut_model import CutModel
from gatherscatter.onnx.session.facts import ModelFacts, UncuttableError
from gatherscatter.onnx.session.family_nodes import family_nodes
from gatherscatter.onnx.session.interface import node_arg
from gatherscatter.onnx.session.model_plan import ModelPlan, make_plan, whole_plan
from gatherscatter.onnx.session.ort_values import owned
from gatherscatter.onnx.session.part_sessions import FOLDER, PartSessions, config_entry
from gatherscatter.onnx.session.partition import partition
from gatherscatter.onnx.session.runtime import onnxruntime
from gatherscatter.onnx.session.session_inputs import SessionInputs

# isort: split
# After the modules that say which extra is missing:
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument  # type: ignore[import-untyped]

CPU = "CPUExecutionProvider"


class InputError(ModelError, InvalidArgument):  # type: ignore[misc]
    """Inputs or outputs that the model doesn't have: what ONNX Runtime raises, in this package's words."""


class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """``onnxruntime.InferenceSession`` on the CPU, right and deterministic also where indices repeat.

    The gather and scatter nodes that ONNX Runtime gets wrong, refuses or does slower run on this package's kernels, all
    others in ONNX Runtime. `plan` says which, and why. A model without such nodes is an ordinary session.

    Parameters
    ----------
    path_or_bytes : path, bytes or onnx.ModelProto
    sess_options : onnxruntime.SessionOptions, optional
        For every part; the number of threads is for our kernels, too.
    providers, provider_options : as in ONNX Runtime
        All but the CPU's are ignored, with a warning.

    Attributes
    ----------
    plan : the parts of the model, who runs them, and why

    Raises
    ------
    Exceptions of ONNX Runtime
        The model can't be loaded; from `run`, a node of ONNX Runtime's fails, or the inputs are not the model's.
    IndexError, TypeError, ValueError
        From `run`: what a node of ours raises; a note names the node.

    Source: ``onnxruntime.InferenceSession``.

    >>> import numpy as np, onnx, gatherscatter as gs
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[n, d] data, int64[m, 1] indices, float[m, d] x) => (float[n, d] out)
    ...     { updates = Relu (x)  sums = ScatterND <reduction = "add"> (data, indices, updates)  out = Neg (sums) }''')
    >>> session = gs.onnx.InferenceSession(model)
    >>> print(session.plan)
     1 onnxruntime    1 node: Relu
     2 gatherscatter  ScatterND (2/3): ONNX Runtime: ScatterND with a reduction loses updates of repeated indices: its threads race
     3 onnxruntime    1 node: Neg
    >>> x = np.array([[1.0], [-2.0], [4.0]], np.float32)
    >>> session.run(None, {"data": np.zeros((2, 1), np.float32), "indices": np.array([[1], [1], [1]]), "x": x})
    [array([[-0.],
           [-5.]], dtype=float32)]
    """  # noqa: E501

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str] | onnx.ModelProto,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **others: Any,
    ) -> None:
        chosen = _cpu_only(providers, provider_options)
        path = Path(path_or_bytes).absolute() if isinstance(path_or_bytes, str | os.PathLike) else None
        sessions = PartSessions(sess_options, chosen, others)
        self._cut: CutModel | None = None
        try:
            model = _read(path_or_bytes)
            self._cut, self.plan = _cut(model, path or Path(config_entry(sess_options, FOLDER) or ".", "-"), sessions)
        except UncuttableError as error:
            self.plan = ModelPlan((), (f"ONNX Runtime has the whole model: {error}",))
        if self._cut is not None:
            self._describe(self._cut, sess_options)
            return
        whole = path_or_bytes.SerializeToString() if isinstance(path_or_bytes, onnx.ModelProto) else path_or_bytes
        super().__init__(whole, sess_options, chosen, **others)
        if not self.plan.parts:  # after ONNX Runtime had its say: it may refuse the model, too
            warnings.warn(self.plan.notes[0], stacklevel=2)

    def _describe(self, cut: CutModel, sess_options: Any) -> None:
        """Set what the getters of ONNX Runtime's class return."""
        self._sess = _NoSession()
        self._sess_options = onnxruntime.SessionOptions() if sess_options is None else sess_options
        self._inputs_meta = [node_arg(value) for value in cut.inputs]
        self._outputs_meta = cut.outputs
        self._overridable_initializers = [node_arg(value) for value in cut.overridable]
        self._model_meta = cut.metadata
        self._providers = [CPU]
        self._input_meminfos = self._output_meminfos = self._input_epdevices = None
        self._provider_options: dict[str, dict[str, str]] = {CPU: {}}
        self._inputs = SessionInputs(
            *([tensor_info(value) for value in kind] for kind in (cut.inputs, cut.overridable))
        )

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """The outputs of these names, or all; see ``onnxruntime.InferenceSession.run``.

        Arrays of bfloat16 and float8 are taken and given as ml_dtypes has them, where the model is in parts.
        """
        if self._cut is None:
            return super().run(output_names, input_feed, run_options)  # type: ignore[no-any-return]
        known = [value.name for value in self._outputs_meta]
        names = known if output_names is None else list(output_names) or known
        for name in names:
            if name not in known:
                raise InputError(f"the model has no output {name!r}; its outputs are {', '.join(map(repr, known))}")
        try:
            given = self._inputs.check(input_feed)
        except ModelError as error:
            raise InputError(str(error)) from None
        return self._cut.run(names, given, run_options)

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """As `run`, with ``onnxruntime.OrtValue`` instead of arrays."""
        if self._cut is None:
            return super().run_with_ort_values(output_names, input_dict_ort_values, run_options)  # type: ignore[no-any-return]
        return [owned(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def io_binding(self) -> Any:
        """Only for models in one part."""
        return self._sess.io_binding if self._cut is not None else super().io_binding()

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Nothing but the CPU is possible, so this changes nothing."""
        _cpu_only(providers, provider_options)


class _NoSession:
    """Stands for the one session that a model in parts has not."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(
            f"{name} needs a session in one piece, but this model runs in parts (see .plan); use run or"
            " run_with_ort_values, or onnxruntime.InferenceSession"
        )


def _cpu_only(providers: Sequence[Any] | None, provider_options: Sequence[dict[Any, Any]] | None) -> list[Any]:
    """The CPU's entry of providers; a warning names the others."""
    given = zip(providers or (), provider_options or [{} for _ in providers or ()], strict=True)
    pairs = [each if isinstance(each, tuple) else (each, options) for each, options in given]
    others = [str(name) for name, _ in pairs if name != CPU]
    if others:
        warnings.warn(f"only the CPU runs a model here; {', '.join(others)} ignored", stacklevel=3)
    return [pair for pair in pairs if pair[0] == CPU] or [CPU]


def _read(source: str | bytes | os.PathLike[str] | onnx.ModelProto) -> onnx.ModelProto:
    """The model; UncuttableError if ONNX Runtime must say what it is."""
    if isinstance(source, onnx.ModelProto):
        return source
    try:
        model = onnx.ModelProto()
        model.ParseFromString(source if isinstance(source, bytes) else Path(source).read_bytes())
    except (OSError, DecodeError) as error:
        raise UncuttableError(f"it can't be read ({one_line(error)})") from None
    return model


def _cut(model: onnx.ModelProto, path: Path, sessions: PartSessions) -> tuple[CutModel | None, ModelPlan]:
    """The model in parts, if there is anything for us to do, and the plan; UncuttableError if ONNX Runtime must have it
    whole."""
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    if not any(node.op_type in FAMILY for body in bodies for node in walk(body)):
        return None, whole_plan(model)
    try:
        facts = ModelFacts(model, path)
        known = family_nodes(facts, sessions.num_threads)
        ours = {position for position, node in known.items() if node.needed}
        parts = partition(facts.model.graph, ours, known.keys() - ours, facts.given, [*facts.constants])
        if not any(part.ours for part in parts):
            return None, whole_plan(facts.model)
        return CutModel(facts, parts, known, sessions), make_plan(facts.model, parts, known)
    except Exception as error:  # damage, for which ONNX Runtime has words, and what the onnx package doesn't know
        raise UncuttableError(one_line(error)) from error
