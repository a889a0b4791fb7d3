"""Damage to ONNX models: to the messages, to the graph, and to the bytes of the file."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, helper

from tests.support.growth import GROWTHS
from tests.support.onnx_graphs import graph, node
from tools.fuzz_models.damage import (
    COUNTS,
    FLOATS,
    INTEGERS,
    LARGEST,
    LOCATIONS,
    TEXTS,
    Mutation,
    change_once,
    change_weights,
    damage_bytes,
)
from tools.fuzz_models.files import Files
from tools.fuzz_models.models import MODELS


def walk_messages(message: Any) -> Iterator[Any]:
    """Yield a message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if is_repeated(value) else (value,):
                yield from walk_messages(inner)


def is_repeated(value: Any) -> bool:
    return hasattr(value, "extend")


def find_messages(made: onnx.ModelProto, *types: Any) -> list[Any]:
    return [message for message in walk_messages(made) if isinstance(message, types)]


def list_value_names(made: onnx.ModelProto) -> list[str]:
    names = {name for each in find_messages(made, onnx.NodeProto) for name in (*each.input, *each.output)}
    return sorted(names | {each.name for each in find_messages(made, onnx.ValueInfoProto, TensorProto)})


def draw_value(field: Any, rng: random.Random, made: onnx.ModelProto) -> Any:
    """Draw a value of the field's type, often an unlikely one."""
    kind = field.cpp_type
    if kind == field.CPPTYPE_MESSAGE:
        found = rng.choice([each for each in walk_messages(made) if field.message_type == each.DESCRIPTOR] or [None])
        return deepcopy(found)  # it may contain the list into which it is inserted
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if kind == field.CPPTYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    if kind == field.CPPTYPE_STRING:
        if field.type == field.TYPE_BYTES:
            return rng.randbytes(rng.choice((0, 1, 4, 8, 64)))
        return rng.choice(TEXTS) if rng.random() < 0.5 else rng.choice(list_value_names(made))
    return rng.choice(INTEGERS) if rng.random() < 0.6 else rng.randrange(30)


def change_field(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Change any field of any message."""
    message = rng.choice(list(walk_messages(made)))
    present = [field for field, _ in message.ListFields()]
    field = rng.choice(present if present and rng.random() < 0.8 else list(message.DESCRIPTOR.fields))
    what = f"{message.DESCRIPTOR.name}.{field.name}"
    with contextlib.suppress(ValueError, TypeError):  # a number that is out of range does not change the field
        if is_repeated(getattr(message, field.name)):
            return f"{what}: {change_list(getattr(message, field.name), draw_value(field, rng, made), rng)}"
        if rng.random() < 0.2:
            message.ClearField(field.name)
            return f"{what} cleared"
        value = draw_value(field, rng, made)
        if field.message_type is None:
            setattr(message, field.name, value)
        elif value is not None:
            copy = type(value)()
            copy.CopyFrom(value)
            getattr(message, field.name).CopyFrom(copy)
        return f"{what} = {str(value)[:60]!r}"
    return f"{what} kept"


def change_list(values: Any, value: Any, rng: random.Random) -> str:
    """Add, remove, replace, repeat or shuffle elements."""
    action = rng.choice(("add", "remove", "replace", "double", "shuffle", "clear", "many"))
    at = rng.randrange(len(values)) if values else 0
    if action == "add" and value is not None:
        values.append(value)
    elif action == "remove" and values:
        del values[at]
    elif action == "replace" and values and value is not None:
        if hasattr(value, "CopyFrom"):
            values[at].CopyFrom(type(value).FromString(value.SerializeToString()))
        else:
            values[at] = value
    elif action == "double" and values:
        values.extend([values[at]])
    elif action == "shuffle":
        kept = list(values)
        rng.shuffle(kept)
        kept = [type(each).FromString(each.SerializeToString()) if hasattr(each, "CopyFrom") else each for each in kept]
        del values[:]
        values.extend(kept)
    elif action == "clear":
        del values[:]
    elif value is not None:
        size = value.ByteSize() if hasattr(value, "ByteSize") else len(str(value))
        values.extend([value] * min(rng.choice((2, 66, 1000)), LARGEST // (size + 1)))
    return action


def change_dims(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    found = rng.choice(find_messages(made, TensorProto))
    dims = [rng.choice(INTEGERS) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 65, 1000)))]
    if found.dims and rng.random() < 0.5:
        dims = list(found.dims)
        dims[rng.randrange(len(dims))] = rng.choice(INTEGERS)
    found.dims[:] = dims
    return f"dims of {found.name!r} = {dims[:4]}"


def change_data(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Change the values of a tensor, which are mostly indices."""
    chosen = rng.choice([each for each in find_messages(made, TensorProto) if each.raw_data])
    chosen.raw_data = b"".join(
        rng.choice(INTEGERS).to_bytes(8, "little", signed=True)
        if rng.random() < 0.3
        else rng.randrange(-3, 4).to_bytes(8, "little", signed=True)
        for _ in range(len(chosen.raw_data) // 8 + 1)
    )[: len(chosen.raw_data)]
    return f"data of {chosen.name!r}"


def change_type(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Change the declared type of an input or output, or the type of a tensor."""
    found = rng.choice(find_messages(made, onnx.ValueInfoProto, TensorProto))
    if isinstance(found, TensorProto):
        found.data_type = rng.choice((*range(30), -1, 1000))
        return f"type of {found.name!r} = {found.data_type}"
    kind = rng.randrange(6)
    if kind < 2:
        found.type.tensor_type.elem_type = rng.choice((*range(30), -1, 1000))
    elif kind < 4:
        del found.type.tensor_type.shape.dim[:]
        for _ in range(rng.choice((0, 1, 2, 3, 64, 65, 1000))):
            size = found.type.tensor_type.shape.dim.add()
            if rng.random() < 0.7:
                size.dim_value = rng.choice(INTEGERS)
            else:
                size.dim_param = rng.choice(TEXTS)
    else:
        inner = found.type
        for _ in range(rng.choice((1, 2, 3, 20))):
            chosen = rng.randrange(3)
            inner = (inner.sequence_type, inner.optional_type, inner.map_type)[chosen]
            inner = inner.value_type if chosen == 2 else inner.elem_type
        inner.tensor_type.elem_type = rng.randrange(20)
    return f"declaration of {found.name!r} = {str(found.type)[:50]!r}"


def rewire(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Rename an input or output of a node, which may create a cycle."""
    found = rng.choice(find_messages(made, onnx.NodeProto))
    names = found.input if rng.random() < 0.7 else found.output
    at, name = rng.randrange(len(names)), rng.choice([*list_value_names(made), "", "nowhere"])
    text = f"{found.op_type}: {names[at]!r} -> {name!r}"
    names[at] = name
    return text


def rename(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Rename a value everywhere. The model stays valid unless the new name is in use or invalid."""
    old = rng.choice(list_value_names(made))
    new = rng.choice((*TEXTS, *list_value_names(made)))
    for message in walk_messages(made):
        if isinstance(message, onnx.NodeProto):
            for names in (message.input, message.output):
                names[:] = [new if name == old else name for name in names]
        elif isinstance(message, onnx.ValueInfoProto | TensorProto) and message.name == old:
            message.name = new
    return f"{old!r} renamed {new[:40]!r}"


def change_operator(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    found = rng.choice(find_messages(made, onnx.NodeProto))
    old, names = found.op_type, sorted({schema.name for schema in onnx.defs.get_all_schemas()})
    found.op_type = rng.choice(names)
    if rng.random() < 0.5:
        del found.attribute[:]
    if rng.random() < 0.2:
        found.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "my", "com.microsoft"))
    return f"{old} -> {found.domain}.{found.op_type}"


def change_attribute(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Give a node an attribute of another type or value, or a reference to an attribute of a function."""
    found = rng.choice(find_messages(made, onnx.NodeProto))
    known = onnx.defs.get_schema(found.op_type).attributes if onnx.defs.has(found.op_type) else {}
    name = rng.choice([*sorted(known), *(each.name for each in found.attribute), "axis"])
    value = rng.choice(
        (rng.choice(INTEGERS), rng.randrange(-4, 5), rng.choice(FLOATS), rng.choice(TEXTS), [1, 2], [1.5], ["a", "b"])
    )
    for at in reversed(range(len(found.attribute))):
        if found.attribute[at].name == name:
            del found.attribute[at]
    made_attribute = helper.make_attribute(name, value)
    if rng.random() < 0.2:
        made_attribute.type = rng.randrange(1, 15)
    if rng.random() < 0.1:
        made_attribute.ref_attr_name = rng.choice(("along", "axis", ""))
    found.attribute.append(made_attribute)
    return f"{found.op_type}.{name} = {str(value)[:40]!r}"


def change_opset(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    entry = rng.choice(find_messages(made, onnx.OperatorSetIdProto))
    entry.version = rng.choice((*range(1, 30), *INTEGERS))
    if rng.random() < 0.2:
        made.opset_import.add(domain=rng.choice(("", "ai.onnx", "my", "ai.onnx.ml")), version=rng.randrange(1, 30))
    return f"opset of {entry.domain!r} = {entry.version}"


def change_external(made: onnx.ModelProto, files: Files, rng: random.Random) -> str:
    """Change where the bytes of a tensor are. A tensor with its own bytes becomes an external one."""
    found = rng.choice(find_messages(made, TensorProto))
    if found.data_location != TensorProto.EXTERNAL:
        found.ClearField("raw_data")
        found.data_location = TensorProto.EXTERNAL
        found.external_data.add(key="location", value="weights.bin")
    key = rng.choice(("location", "location", "offset", "length", "checksum"))
    value = rng.choice(LOCATIONS if key == "location" else COUNTS)
    kept = [entry for entry in found.external_data if entry.key != key or rng.random() < 0.2]
    kept = [(entry.key, entry.value) for entry in kept] + [(key, value)]
    del found.external_data[:]
    for name, text in kept:
        found.external_data.add(key=name, value=text)
    return f"external {key} of {found.name!r} = {value[:40]!r}"


ONNX_MUTATIONS: tuple[Mutation, ...] = (
    *(change_field, change_field, change_field, change_dims, change_data, change_data, change_type, rewire, rename),
    *(change_operator, change_attribute, change_opset, change_external, change_weights),
)


def encode_field(number: int, payload: bytes) -> bytes:
    """Encode a length-delimited field of a protobuf message. It can be nested deeper than onnx allows."""
    size, length = bytearray(), len(payload)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + payload


def nest_deeper(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Add a node with nested graphs, or an input of a nested type."""
    depth = rng.choice((1, 2, 5, 10, 20, 30, 32, 40, 100, 1000))
    if rng.random() < 0.3:
        inner = TypeProto(tensor_type=TypeProto.Tensor(elem_type=1)).SerializeToString()
        for _ in range(depth):
            inner = encode_field(rng.choice((4, 9)), encode_field(1, inner))
        added = encode_field(11, encode_field(1, b"deep") + encode_field(2, inner))
        return data + encode_field(7, added), f"types {depth} deep"
    condition = rng.choice((b"flag", b"x", b"deep", b"none"))
    inner = graph([node("Identity", "x", f"deep{depth}")], {}, {f"deep{depth}": (np.float32, None)}).SerializeToString()
    for level in reversed(range(depth)):
        stub = graph([node("Identity", "x", f"other{level}")], {}, {f"other{level}": (np.float32, None)})
        branches = encode_field(5, encode_field(6, inner) + b"\x0a\x0bthen_branch\xa0\x01\x05")
        branches += encode_field(5, helper.make_attribute("else_branch", stub).SerializeToString())
        made = encode_field(1, condition) + helper.make_node("If", [], [f"deep{level}"]).SerializeToString()
        output = encode_field(12, onnx.ValueInfoProto(name=f"deep{level}").SerializeToString())
        inner = encode_field(1, made + branches) + (output if level else b"") + b"\x12\x04deep"
    return data + encode_field(7, inner), f"graphs {depth} deep"


def draw_growth(rng: random.Random) -> tuple[bytes, str]:
    """Draw a model with thousands of elements of one kind."""
    # Without growing_values: this model itself requires large values.
    name = rng.choice([name for name in GROWTHS if name != "growing_values"])
    count = round(10 ** rng.uniform(1, 3.6))
    return GROWTHS[name](count).SerializeToString(), f"{count} {name}"


def damage_onnx(files: Files, rng: random.Random) -> tuple[Files, list[str]]:
    data, log = files["model.onnx"], []
    assert isinstance(data, bytes)
    style = rng.random()
    if rng.random() < 0.03:
        data, said = draw_growth(rng)
        log.append(said)
        style = max(style, 0.4)  # half of them are not changed
    if style < 0.75 and not (log and style < 0.6):
        made = onnx.ModelProto.FromString(data)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            if made.ByteSize() < LARGEST:
                log.append(change_once(ONNX_MUTATIONS, made, files, rng))
        data = made.SerializeToString()
    elif style < 0.82:
        data, said = nest_deeper(data, rng)
        log.append(said)
    if style > 0.97 or 0.8 < style < 0.95:
        other = MODELS[rng.choice([name for name in MODELS if name.startswith("onnx")])]()["model.onnx"]
        assert isinstance(other, bytes)
        data = damage_bytes(data, rng, other)
        log.append("bytes")
    return {**files, "model.onnx": data}, log
