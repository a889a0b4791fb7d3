"""The cost of reading an IR: within the limits for files of some MB, and no more than in proportion to the file.

Each function here writes an IR that is large in one dimension. A quadratic cost in that dimension shows when the file
is four times as large.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gatherscatter_models.interface import ModelError
from gatherscatter_models.loading import load
from tools.fuzz_models.limits import MEMORY, SECONDS, Meter

X = (
    '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>'
    '<output><port id="0" precision="FP32" names="{names}">{dims}</port></output></layer>'
)


def net(layers: str, edges: str, names: str = "", dims: str = "<dim>1</dim>") -> str:
    """Return a network with one input, layer 0."""
    x = X.format(names=names, dims=dims)
    return f'<net name="m" version="11"><layers>{x}{layers}</layers><edges>{edges}</edges></net>'


def layer(number: int, kind: str, inputs: int = 1, outputs: int = 1, extra: str = "", data: str = "") -> str:
    ports = "".join(f'<port id="{port}"/>' for port in range(inputs))
    made = "".join(f'<port id="{port}" precision="FP32"/>' for port in range(inputs, inputs + outputs))
    return (
        f'<layer id="{number}" name="l{number}" type="{kind}" version="opset1"{extra}>{data}'
        f"<input>{ports}</input><output>{made}</output></layer>"
    )


def result(number: int, extra: str = "") -> str:
    return layer(number, "Result", outputs=0, extra=extra)


def edge(start: int, port: int, end: int, to: int = 0) -> str:
    return f'<edge from-layer="{start}" from-port="{port}" to-layer="{end}" to-port="{to}"/>'


def one(names: str = "", dims: str = "", extra: str = "", data: str = "", layers: str = "") -> str:
    """Return a Relu between input and result."""
    relu = layer(1, "Relu", extra=extra, data=data)
    return net(relu + result(2) + layers, edge(0, 0, 1) + edge(1, 1, 2), names, dims)


def many(count: int, separator: str = ",") -> str:
    return separator.join(f"n{number}" for number in range(count))


def results_with_the_same_names(n: int) -> str:
    size = int(n**0.5)
    layers = "".join(result(number, f' output_names="{many(size)}"') for number in range(1, size))
    return net(layers, "".join(edge(0, 0, end) for end in range(1, size)))


def chain(n: int) -> str:
    layers = "".join(layer(number, "Relu") for number in range(1, n))
    edges = "".join(edge(number - 1, min(number - 1, 1), number) for number in range(1, n))
    return net(layers + result(n), edges + edge(n - 1, 1, n))


def chain_from_the_end(n: int) -> str:
    layers = "".join(layer(number, "Relu") for number in range(n - 1, 0, -1))
    edges = "".join(edge(number - 1, min(number - 1, 1), number) for number in range(n - 1, 0, -1))
    return net(result(n) + layers, edges + edge(n - 1, 1, n))


def cycle(n: int) -> str:
    layers = "".join(layer(number, "Relu") for number in range(1, n))
    edges = "".join(edge(number, 1, number + 1) for number in range(1, n - 1)) + edge(n - 1, 1, 1)
    return net(layers, edges)


def layers_that_nobody_reads(n: int) -> str:
    unread = "".join(layer(number, "Relu") for number in range(3, n))
    edges = "".join(edge(0, 0, end) for end in range(3, n))
    return one(layers=unread).replace("</edges>", f"{edges}</edges>")


def inputs_of_a_layer(n: int) -> str:
    concat = layer(1, "Concat", inputs=n, data='<data axis="0"/>')
    return net(concat + result(2), "".join(edge(0, 0, 1, to) for to in range(n)) + edge(1, n, 2))


def outputs_of_a_layer(n: int) -> str:
    made = layer(1, "Relu", outputs=n)
    return net(made + result(2), edge(0, 0, 1) + edge(1, 1, 2))


def outputs_that_are_results(n: int) -> str:
    made = layer(1, "Relu", outputs=n)
    edges = "".join(edge(1, number - 1, number) for number in range(2, n))
    return net(made + "".join(map(result, range(2, n))), edge(0, 0, 1) + edges)


def parameters(n: int) -> str:
    more = "".join(X.format(names="", dims="").replace('"0" name="x"', f'"{k}" name="x{k}"', 1) for k in range(3, n))
    return one(layers=more)


def dims(n: int) -> str:
    return one(dims="<dim>1</dim>" * n)


def attributes(n: int) -> str:
    return one(data="<data " + " ".join(f'a{number}="{number}"' for number in range(n)) + "/>")


def a_long_attribute(n: int) -> str:
    return one(data=f'<data a="{"a" * 20 * n}"/>')


def a_long_list(n: int) -> str:
    return one().replace('shape="1"', f'shape="{"1," * n}1"')


def a_long_name(n: int) -> str:
    return one().replace('name="l1"', f'name="{"l" * 20 * n}"')


def many_names(n: int) -> str:
    return one(names=many(n))


def names_of_nothing(n: int) -> str:
    return one(names="," * 5 * n)


def names_with_backslashes(n: int) -> str:
    return one(names="\\," * 5 * n)


def names_of_a_result(n: int) -> str:
    return one().replace('type="Result"', f'type="Result" output_names="{many(n)}"')


def runtime_information(n: int) -> str:
    told = "".join(f'<attribute name="fused_names_{number}" version="0" value="x"/>' for number in range(n))
    return one(data=f"<rt_info>{told}</rt_info>")


def bodies(n: int) -> str:
    """Return graphs inside layers, as loops have them."""
    inner = "".join(layer(number, "Relu") for number in range(n))
    return one(data=f"<body><layers>{inner}</layers></body>")


def bodies_within_bodies(n: int) -> str:
    depth = 60
    inner = "".join(layer(number, "Relu") for number in range(n))
    return one(data="<body><layers><layer>" * depth + inner + "</layer></layers></body>" * depth)


def elements_that_mean_nothing(n: int) -> str:
    return one(layers="<a/>" * 5 * n)


def text_of_many_lines(n: int) -> str:
    return one(layers="\n" * 20 * n)


def text_within_a_dim(n: int) -> str:
    return one(dims=f"<dim>{'1&lt;' * 5 * n}</dim>")


def references(n: int) -> str:
    return one(data=f'<data a="{"&lt;" * 5 * n}"/>')


def a_comment(n: int) -> str:
    return one(layers=f"<!--{'a' * 20 * n}-->")


# Results of one tensor that has many names cost more: OpenVINO copies the names to each result.
KINDS: tuple[Callable[[int], str], ...] = (
    *(
        results_with_the_same_names,
        chain,
        chain_from_the_end,
        cycle,
        layers_that_nobody_reads,
        inputs_of_a_layer,
        outputs_of_a_layer,
    ),
    *(outputs_that_are_results, parameters, dims, attributes, a_long_attribute, a_long_list, a_long_name, many_names),
    *(names_of_nothing, names_with_backslashes, names_of_a_result, runtime_information, bodies, bodies_within_bodies),
    *(elements_that_mean_nothing, text_of_many_lines, text_within_a_dim, references, a_comment),
)
ENOUGH = 0.3  # seconds; the cost of a faster file does not matter


def seconds(path: Path) -> float:
    """Return the processor time of reading a file."""
    gc.collect()
    start = time.process_time()
    with contextlib.suppress(ModelError):
        load(path)
    return time.process_time() - start


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_four_times_the_file_costs_four_times_the_time(kind: Callable[[int], str], tmp_path: Path) -> None:
    small, large = tmp_path / "small.xml", tmp_path / "large.xml"
    count = 1500
    small.write_text(kind(count))
    large.write_text(kind(4 * count))
    ratios = []
    for _ in range(3):  # repeated, because other programs may interfere
        if seconds(large) < ENOUGH:
            return
        # In turn, because the speed of some machines changes within seconds.
        pairs = [(seconds(small), seconds(large)) for _ in range(3)]
        ratios.append(min(two for _, two in pairs) / min(one for one, _ in pairs))
        if ratios[-1] < 8:  # 16 if the cost is quadratic; more than 4 if only the small file fits in the caches
            return
    raise AssertionError(f"four times the file takes {ratios} times the time")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_files_of_a_megabyte_are_within_the_limits(kind: Callable[[int], str], tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(kind(1000))
    path.write_text(kind(1000 * (1 << 20) // max(path.stat().st_size, 1 << 15)))
    with Meter() as meter, contextlib.suppress(ModelError):
        load(path)
    assert meter.seconds < SECONDS
    assert meter.memory < MEMORY


def test_a_tag_of_many_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(one(data=f'<data a="{"a" * (20 << 20)}"/>'))
    with Meter() as meter:
        load(path)
    assert meter.seconds < SECONDS
    assert meter.memory < MEMORY
