"""``onnxruntime.InferenceSession`` with gatherscatter's kernels for nodes that ONNX Runtime gets wrong or refuses."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnxruntime  # type: ignore[import-untyped]
from onnxruntime.capi import onnxruntime_pybind11_state as states  # type: ignore[import-untyped]
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument  # type: ignore[import-untyped]

from gatherscatter.system.native_library import library_path
from gatherscatter_models.onnx.graph import one_line
from gatherscatter_models.onnx.native_nodes import ModelPlan, move_nodes
from gatherscatter_models.onnx.session.model_data import is_too_large, serialise, write_tensors
from gatherscatter_models.onnx.session.op_errors import read_error

_FOLDER = "session.model_external_initializers_file_folder_path"
_Source: TypeAlias = "str | bytes | os.PathLike[str] | onnx.ModelProto"
_TENSORS = "tensors"  # the name of the file for the tensors of a large model


class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """A drop-in ``onnxruntime.InferenceSession``: correct and deterministic, even where indices repeat.

    gatherscatter's native library runs the gather and scatter nodes that ONNX Runtime gets wrong, refuses or runs
    slower. It uses the threads of the session. Such nodes are moved to it in the main graph, in functions, and in the
    bodies of If, Loop and Scan. `plan` lists them with the reasons. ONNX Runtime runs all other nodes. A model without
    such nodes is passed to ONNX Runtime unchanged.

    Parameters
    ----------
    path_or_bytes : path, bytes or onnx.ModelProto
        The model, which is not changed. A ModelProto may be larger than 2 GB.
    sess_options : onnxruntime.SessionOptions, optional
        The native library is registered with these options. So other sessions with the same options have its operators
        as well.
    providers, provider_options, **others : as in ONNX Runtime
        The native library runs on the CPU.
    fuse : bool
        Whether a Gather and the scatter or sum after it run as one step, if nothing else reads the gathered rows.
    move_all : bool
        Whether the library also runs the gathers and scatters that ONNX Runtime runs well. Their errors are then those
        of gatherscatter, with the position and the range of a bad index.

    Attributes
    ----------
    plan : the nodes that were moved to the native library, and why

    Raises
    ------
    Exceptions of ONNX Runtime
        The model can't be loaded. In `run`: a node of ONNX Runtime fails, or the inputs do not fit the model.
    IndexError, TypeError, ValueError
        In `run` and `run_with_ort_values`: an `OpError` of a node in the native library. It has the message and ``op``
        only, and a note names the node. All other methods raise an exception of ONNX Runtime with that message.
    FileNotFoundError
        This installation has no native library.

    Source: ``onnxruntime.InferenceSession``.

    >>> import numpy as np, onnx, gatherscatter_models as gm
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 18]>
    ...     g (float[n, d] data, int64[m, 1] indices, float[m, d] x) => (float[n, d] out)
    ...     { updates = Relu (x)  sums = ScatterND <reduction = "add"> (data, indices, updates)  out = Neg (sums) }''')
    >>> session = gm.onnx.InferenceSession(model)
    >>> print(session.plan)
    gatherscatter  ScatterND (2/3): ONNX Runtime: ScatterND with a reduction loses updates of repeated indices: its threads race
    onnxruntime    2 nodes: Relu, Neg
    >>> x = np.array([[1.0], [-2.0], [4.0]], np.float32)
    >>> session.run(None, {"data": np.zeros((2, 1), np.float32), "indices": np.array([[1], [1], [1]]), "x": x})
    [array([[-0.],
           [-5.]], dtype=float32)]
    """  # noqa: E501

    _model_bytes: Any  # an attribute of ONNX Runtime's class, for `set_providers`

    def __init__(
        self,
        path_or_bytes: _Source,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        *,
        fuse: bool = True,
        move_all: bool = False,
        **others: Any,
    ) -> None:
        self._options = sess_options
        self._folder: str | None = None  # the folder of external data
        try:
            content = self._rewrite(path_or_bytes, fuse, move_all)
        except Exception as error:  # a damaged model, or one that the onnx package can't read: ONNX Runtime decides
            self.plan = ModelPlan(notes=(f"ONNX Runtime runs the whole model: {one_line(error)}",))
            content = path_or_bytes
        if isinstance(content, onnx.ModelProto):
            content = content.SerializeToString()
        if self._options is None and (self.plan.moved or self._folder):
            self._options = onnxruntime.SessionOptions()
        if self.plan.moved:
            self._options.register_custom_ops_library(str(library_path()))
        with _external_data(self._options, self._folder, keep=sess_options is None), _readable_errors():
            super().__init__(content, self._options, providers, provider_options, **others)
        self._again = None
        if isinstance(path_or_bytes, str | os.PathLike) and self._model_bytes is not None:
            self._again = partial(self._rewrite, path_or_bytes, fuse, move_all)
            self._model_bytes = b""  # the bytes may be most of the memory
        for note in self.plan.notes:  # last, because ONNX Runtime may refuse the model with an error
            warnings.warn(note, stacklevel=2)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """Return the outputs with these names, or all; see ``onnxruntime.InferenceSession.run``."""
        try:
            with _readable_errors():
                return super().run(output_names, input_feed, run_options)  # type: ignore[no-any-return]
        except InvalidArgument as error:
            raise read_error(str(error)) or error from None

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """Run the model like `run`, with ``onnxruntime.OrtValue`` instead of arrays."""
        try:
            with _readable_errors():
                return super().run_with_ort_values(output_names, input_dict_ort_values, run_options)  # type: ignore[no-any-return]
        except InvalidArgument as error:
            raise read_error(str(error)) or error from None

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Recreate the session with other providers; see ``onnxruntime.InferenceSession.set_providers``."""
        if self._again is not None:
            self._model_bytes = self._again()
        with _external_data(self._options, self._folder), _readable_errors():
            super().set_providers(providers, provider_options)
        if self._again is not None:
            self._model_bytes = b""

    def _rewrite(self, source: _Source, fuse: bool, move_all: bool) -> _Source:
        """Set the plan, and return the model with its nodes moved; the source itself if there is nothing to change."""
        model, path = self._read(source)
        threads = 0 if self._options is None else int(self._options.intra_op_num_threads)
        self.plan = move_nodes(model, path, threads=threads, fuse=fuse, move_all=move_all)
        if not self.plan.moved and path.name != _TENSORS:
            return source
        content, self._folder = serialise(model, path)
        return content

    def _read(self, source: _Source) -> tuple[onnx.ModelProto, Path]:
        """Return a copy of the model, and a path; external data is next to it."""
        model, path = onnx.ModelProto(), Path(_find_folder(self._options) or ".", "-")
        if isinstance(source, str | os.PathLike):
            path = Path(source).absolute()
            model.ParseFromString(path.read_bytes())
        elif isinstance(source, bytes):
            model.ParseFromString(source)
        elif is_too_large(source):
            path = Path(tempfile.mkdtemp(prefix="gatherscatter-"), _TENSORS)
            weakref.finalize(self, shutil.rmtree, path.parent, ignore_errors=True)
            model = write_tensors(source, path)
        else:
            model.CopyFrom(source)
        return model, path


def _find_folder(options: Any) -> str | None:
    """Return the folder of external data in session options; None if they have none."""
    try:
        return None if options is None else str(options.get_session_config_entry(_FOLDER))
    except RuntimeError:  # the options have no such entry
        return None


# ONNX Runtime's classes of errors, in the order of their numbers from 1 on.
_ERRORS = ("Fail", "InvalidArgument", "NoSuchFile", "NoModel", "EngineError", "RuntimeException", "InvalidProtobuf",
           "ModelLoaded", "NotImplemented", "InvalidGraph", "EPFail")  # fmt: skip


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Within a block, raise ONNX Runtime's errors also if they quote names that are not UTF-8."""
    try:
        yield
    except UnicodeDecodeError as error:
        text = error.object.decode(errors="backslashreplace")
        code = re.match(r"\[ONNXRuntimeError\] : (\d+) :", text)
        names = dict(enumerate(_ERRORS, 1))
        raise getattr(states, names.get(int(code[1]), "Fail") if code else "Fail")(text) from None


@contextmanager
def _external_data(options: Any, folder: str | None, *, keep: bool = False) -> Iterator[None]:
    """Set the folder of external data in session options within a block; with None, leave it unchanged.

    With ``keep``, it remains in the options, because they belong to the session. ONNX Runtime logs a warning about each
    change of an entry.
    """
    before = _find_folder(options)
    if folder is not None and before != folder:
        options.add_session_config_entry(_FOLDER, folder)
    try:
        yield
    finally:
        if not keep and _find_folder(options) != before:  # the caller may use the options for other models
            options.add_session_config_entry(_FOLDER, before or "")  # entries can't be removed
