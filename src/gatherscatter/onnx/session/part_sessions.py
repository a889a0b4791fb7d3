"""Sessions of ONNX Runtime for the parts of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gatherscatter.onnx.session.runtime import onnxruntime

FOLDER = "session.model_external_initializers_file_folder_path"

# Else the threads of one part go on looking for work while the next one runs.
_STOP = "session.force_spinning_stop"


class PartSessions:
    """Makes them; with options of the caller's they share no memory: tensors that are added to options stay there."""

    def __init__(self, sess_options: Any, providers: Sequence[Any], others: Mapping[str, Any]) -> None:
        self.can_share = sess_options is None
        self.num_threads = 0 if sess_options is None else int(sess_options.intra_op_num_threads)
        self._given = sess_options
        self._providers = providers
        self._others = {**others, "enable_fallback": 0}
        self._shared: list[Any] = []

    def make(self, model: bytes, shared: Mapping[str, np.ndarray], folder: str | None) -> onnxruntime.InferenceSession:
        """A session; it reads the ``shared`` initializers where they lie, and files of external data in ``folder``."""
        options = onnxruntime.SessionOptions() if self._given is None else self._given
        before = {_STOP: config_entry(options, _STOP), FOLDER: config_entry(options, FOLDER)}
        if before[_STOP] is None:
            options.add_session_config_entry(_STOP, "1")
        if folder is not None and before[FOLDER] != folder:
            options.add_session_config_entry(FOLDER, folder)
        for name, array in shared.items():
            self._shared.append(onnxruntime.OrtValue.ortvalue_from_numpy(array))  # ONNX Runtime doesn't keep it
            options.add_initializer(name, self._shared[-1])
        try:
            session = onnxruntime.InferenceSession(model, options, self._providers, **self._others)
        finally:
            if self._given is not None:  # the caller may use them for other models
                _restore(options, before)
        session._model_bytes = b""  # kept for a change of providers, which there won't be
        return session


# What ONNX Runtime takes where there is no entry: entries can't be removed.
_DEFAULTS = {_STOP: "0", FOLDER: ""}


def _restore(options: Any, entries: Mapping[str, str | None]) -> None:
    for key, value in entries.items():
        if config_entry(options, key) not in (value, None):
            options.add_session_config_entry(key, _DEFAULTS[key] if value is None else value)


def config_entry(options: Any, key: str) -> str | None:
    """An entry of session options; None if it isn't there."""
    try:
        return None if options is None else str(options.get_session_config_entry(key))
    except RuntimeError:
        return None
