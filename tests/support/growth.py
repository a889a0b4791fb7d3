"""Models that grow in one respect. The cost of reading them must not grow faster than the file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

from tests.support.onnx_graphs import function, graph, model, node

F32, I64, BOOL = np.float32, np.int64, np.bool_
X, Y = {"x": (F32, [4, 4])}, {"y": (F32, None)}
MY = {"my": 1}
PICK = node("Gather", "x at", "picked")
AT = {"at": [1]}


def chain(count: int) -> onnx.ModelProto:
    """Return nodes that each read the previous one."""
    nodes = [node("Relu", f"v{i}" if i else "x", f"v{i + 1}") for i in range(count)]
    return model([*nodes, node("Gather", f"v{count} at", "y")], X, Y, AT)


def gathers(count: int) -> onnx.ModelProto:
    nodes = [node("Gather", f"v{i} all" if i else "x all", f"v{i + 1}") for i in range(count)]
    return model(nodes, X, {f"v{count}": (F32, None)}, {"all": [0, 1, 2, 3]})


def outputs(count: int) -> onnx.ModelProto:
    nodes = [node("Identity", "x", f"v{i}") for i in range(count)]
    return model([*nodes, PICK], X, {f"v{i}": (F32, None) for i in range(count)}, AT)


def inputs(count: int) -> onnx.ModelProto:
    return model([PICK], X | {f"x{i}": (F32, ["n", i]) for i in range(count)}, {"picked": (F32, None)}, AT)


def initializers(count: int) -> onnx.ModelProto:
    return model([PICK], X, {"picked": (F32, None)}, AT | {f"t{i}": [i] for i in range(count)})


def constants(count: int) -> onnx.ModelProto:
    nodes = [node("Constant", "", f"c{i}", value_int=i) for i in range(count)]
    for each in nodes:
        del each.input[:]
    return model([*nodes, PICK], X, {"picked": (F32, None)}, AT)


def opset_imports(count: int) -> onnx.ModelProto:
    made = chain(count)
    made.opset_import.extend(helper.make_opsetid(f"domain{i}", 1) for i in range(count))
    return made


def functions(count: int) -> onnx.ModelProto:
    """Return functions, each called once."""
    count //= 3
    made = [function("my", f"f{i}", "a at", "b", [node("Gather", "a at", "b")]) for i in range(count)]
    calls = [node(f"f{i}", f"v{i} at" if i else "x at", f"v{i + 1}", domain="my") for i in range(count)]
    return model(calls, X, {f"v{count}": (F32, None)}, AT, functions=made, domains=MY)


def calls(count: int) -> onnx.ModelProto:
    """Return calls of one function that has many nodes."""
    inner = [node("Relu", f"v{i}" if i else "a", f"v{i + 1}") for i in range(20)]
    made = [function("my", "f", "a at", "b", [*inner, node("Gather", "v20 at", "b")])]
    nodes = [node("f", f"v{i} at" if i else "x at", f"v{i + 1}", domain="my") for i in range(count // 20)]
    return model(nodes, X, {f"v{count // 20}": (F32, None)}, AT, functions=made, domains=MY)


def function_bomb(count: int) -> onnx.ModelProto:
    """Return functions that each call the previous one twice."""
    made = [function("my", "f0", "a at", "b", [node("Gather", "a at", "b")])]
    for i in range(1, min(count, 60)):
        pair = [node(f"f{i - 1}", "a at", "v", domain="my"), node(f"f{i - 1}", "v at", "b", domain="my")]
        made.append(function("my", f"f{i}", "a at", "b", pair, domains=MY))
    return model([node(made[-1].name, "x at", "y", domain="my")], X, Y, AT, functions=made, domains=MY)


def branches(count: int) -> onnx.ModelProto:
    """Return consecutive If nodes."""
    nodes = []
    for i in range(count // 5):
        parts = {
            name: graph([node("Gather", "x at", f"{name}{i}")], {}, {f"{name}{i}": (F32, None)})
            for name in ("then_branch", "else_branch")
        }
        nodes.append(node("If", "flag", f"y{i}", **parts))
    return model(nodes, X | {"flag": (BOOL, [])}, {"y0": (F32, None)}, AT)


def nested_branches(count: int) -> onnx.ModelProto:
    """Return nested If nodes, with nodes at every level."""
    depth = 20
    inner = graph([node("Gather", "x at", "deep")], {}, {"deep": (F32, None)})
    for level in range(depth):
        others = [node("Relu", "x", f"r{level}_{i}") for i in range(count // depth)]
        stub = graph([node("Identity", "x", f"e{level}")], {}, {f"e{level}": (F32, None)})
        made = node("If", "flag", f"v{level}", then_branch=inner, else_branch=stub)
        inner = graph([*others, made], {}, {f"v{level}": (F32, None)})
    outer = node(
        "If", "flag", "y", then_branch=inner, else_branch=graph([node("Identity", "x", "e")], {}, {"e": (F32, None)})
    )
    return model([outer], X | {"flag": (BOOL, [])}, Y, AT)


def integers(count: int) -> onnx.ModelProto:
    """Return an attribute with many integers, and nodes that read it."""
    nodes = [node("ReduceSum", "x", f"v{i}", axes=[0, 1] * 50) for i in range(count // 50)]
    return model([*nodes, PICK], X, {"picked": (F32, None)}, AT, opset=11)


def long_names(count: int) -> onnx.ModelProto:
    """Return a long name, read by many nodes."""
    name = "n" * count
    nodes = [node("Relu", "x", name), *(node("Relu", name, f"v{i}") for i in range(count // 500))]
    return model([*nodes, node("Gather", f"{name} at", "y")], X, Y, AT)


def many_inputs(count: int) -> onnx.ModelProto:
    """Return a node with many inputs."""
    return model([node("Concat", "x " * count, "v", axis=0), node("Gather", "v at", "y")], X, Y, AT)


def many_outputs(count: int) -> onnx.ModelProto:
    """Return a node with many outputs."""
    names = " ".join(f"v{i}" for i in range(count))
    return model([node("Split", "x", names, num_outputs=count), node("Gather", "v0 at", "y")], X, Y, AT)


def growing_rank(count: int) -> onnx.ModelProto:
    """Return a rank that every node increases."""
    nodes = [node("Unsqueeze", f"v{i} zero" if i else "x zero", f"v{i + 1}") for i in range(count)]
    return model([*nodes, node("Gather", f"v{count} at", "y")], X, Y, AT | {"zero": [0]})


def different_nodes(count: int) -> onnx.ModelProto:
    """Return nodes with many names of sizes. No two of them are equal."""
    side = int(count**0.5)
    inputs = {f"x{i}": (np.float32, [i + 1, *[f"n{k}" for k in range(20)]]) for i in range(side)}
    nodes = [node("Reshape", f"x{i} c{j}", f"y{i}_{j}") for i in range(side) for j in range(side)]
    constants = AT | {f"c{j}": [j + 1, -1] for j in range(side)}
    return model([*nodes, node("Gather", "y0_0 at", "y")], inputs, {"y": (np.float32, None)}, constants)


def growing_values(count: int) -> onnx.ModelProto:
    """Return a shape that every node doubles."""
    nodes = [node("Shape", "x", "v0")]
    nodes += [node("Concat", f"v{i} v{i}", f"v{i + 1}", axis=0) for i in range(count)]
    return model([*nodes, node("Gather", f"v{count} at", "y")], X, {"y": (I64, None)}, AT)


def declared_values(count: int) -> onnx.ModelProto:
    """Return types of values that do not exist, and other texts."""
    made = chain(10)
    made.graph.value_info.extend(helper.make_tensor_value_info(f"u{i}", 1, ["n", 3]) for i in range(count))
    made.metadata_props.extend(onnx.StringStringEntryProto(key=f"k{i}", value="v") for i in range(count))
    made.doc_string = "d" * count
    return made


def texts(count: int) -> onnx.ModelProto:
    """Return a constant of many strings."""
    return model(
        [node("Gather", "words at", "y")],
        {},
        {"y": (np.object_, None)},
        AT | {"words": [f"w{i}" for i in range(count)]},
    )


GROWTHS: dict[str, Callable[[int], onnx.ModelProto]] = {
    each.__name__: each
    for each in (
        *(chain, gathers, outputs, inputs, initializers, constants, opset_imports, functions, calls, function_bomb),
        *(branches, nested_branches, integers, long_names, many_inputs, many_outputs, growing_rank, growing_values),
        *(declared_values, different_nodes, texts),
    )
}
