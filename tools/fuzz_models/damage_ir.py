"""Damage to OpenVINO models: to the layers, to the XML, and to the bytes of the file."""

from __future__ import annotations

import contextlib
import random
from copy import deepcopy
from xml.etree import ElementTree

from tools.fuzz_models.damage import INTEGERS, LARGEST, TEXTS, Mutation, change_once, change_weights, damage_bytes
from tools.fuzz_models.files import Files

KINDS = (
    *("Gather", "GatherND", "GatherElements", "GatherTree", "ScatterUpdate", "ScatterElementsUpdate", "Const"),
    *("ScatterNDUpdate", "Parameter", "Result", "Loop", "If", "TensorIterator", "None", "Softmax"),
)


def change_xml_attribute(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    found = rng.choice([each for each in net.iter() if each.attrib])
    name = rng.choice([*found.attrib, "id"])
    old = found.get(name, "")
    others = [value for each in net.iter(found.tag) for key, value in each.attrib.items() if key == name]
    number = rng.choice((rng.choice(INTEGERS), rng.randrange(9)))
    value = rng.choice((rng.choice(TEXTS), str(number), str(number), rng.choice([*others, "0"])))
    if rng.random() < 0.15 and old:
        del found.attrib[name]
        return f"<{found.tag}> lost {name}"
    found.set(name, value.replace("\0", ""))
    return f"<{found.tag} {name}> {old[:30]!r} -> {value[:40]!r}"


def change_kind(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Give a layer another type or opset."""
    from gatherscatter_models.openvino.layers.table import LAYERS

    found = rng.choice(net.findall("layers/layer"))
    if rng.random() < 0.7:
        found.set("type", rng.choice((*KINDS, *LAYERS)))
    else:
        found.set("version", rng.choice((*(f"opset{n}" for n in range(20)), "extension", "", "opset" + "9" * 4000)))
    return f"layer {found.get('id')} is a {found.get('type')} {found.get('version', '')[:20]}"


def change_edge(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Make a cycle, a dangling end, or two edges into one port."""
    edges = net.findall("edges")[0]
    found = rng.choice(list(edges))
    before = dict(found.attrib)
    source = rng.choice(list(edges))
    action = rng.randrange(4)
    if action == 0:
        found.set("from-layer", source.get("to-layer", ""))
        found.set("from-port", str(rng.randrange(5)))
    elif action == 1:
        for name in ("from-layer", "from-port"):
            found.set(name, source.get(name, ""))
    elif action == 2:
        edges.append(ElementTree.Element("edge", found.attrib))
    else:
        edges.remove(found)
    return f"edge {before} -> {found.attrib}"


def change_elements(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Remove, double, move or nest an element, or insert text where none is allowed."""
    parents = [each for each in net.iter() if len(each)]
    parent = rng.choice(parents or [net])
    child = rng.choice(list(parent)) if len(parent) else net
    most = LARGEST // len(ElementTree.tostring(child))
    action = rng.choice(("remove", "double", "move", "deep", "text", "many", "attributes"))
    if action == "remove" and child is not net:
        parent.remove(child)
    elif action == "double" and child is not net:
        parent.extend(deepcopy(child) for _ in range(min(rng.choice((1, 2, 70)), most)))
    elif action == "move" and child is not net:
        parent.remove(child)
        rng.choice([each for each in net.iter() if each is not child]).append(child)
    elif action == "deep":
        inner = child
        for _ in range(min(rng.choice((1, 5, 100, 255, 300)), most)):
            inner = ElementTree.SubElement(inner, child.tag, child.attrib)
    elif action == "text":
        child.text = rng.choice(TEXTS).replace("\0", "") * rng.choice((1, 1, 1000))
    elif action == "many":
        for _ in range(min(rng.choice((10, 1000, 20_000)), most)):
            ElementTree.SubElement(parent, rng.choice(("dim", "port", "edge", "layer", "x")), child.attrib)
    else:
        child.attrib.update({f"a{i}": "x" * rng.choice((1, 1000)) for i in range(500)})
    return f"{action} <{child.tag}> in <{parent.tag}>"


def change_constant(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Change the offset, size, shape or type of a constant."""
    found = [each for each in net.iter("data") if each.get("offset")]
    chosen, name = rng.choice(found), rng.choice(("offset", "size", "shape", "element_type"))
    kinds = ("f32", "i64", "i32", "u8", "boolean", "string", "bf16", "u4", "nf4", "", "F32")
    sizes = [",".join(str(rng.choice(INTEGERS)) for _ in range(rng.choice((0, 1, 2, 3, 64, 65))))]
    new = rng.choice({"element_type": kinds, "shape": sizes}.get(name, [str(each) for each in INTEGERS]))
    text = f"constant: {name} {chosen.get(name)!r} -> {new[:40]!r}"
    chosen.set(name, new)
    return text


def change_values(net: ElementTree.Element, files: Files, rng: random.Random) -> str:
    """Change a number in the .bin file, which has counts, sizes and indices."""
    data = files["model.bin"]
    content, at = bytearray(data), rng.randrange(0, len(data) - 7, 4)
    value = rng.choice((rng.choice(INTEGERS), rng.randrange(-5, 9)))
    content[at : at + 8] = value.to_bytes(8, "little", signed=True)
    files["model.bin"] = bytes(content)
    return f"at byte {at} of the .bin: {value}"


IR_MUTATIONS: tuple[Mutation, ...] = (
    *(change_xml_attribute, change_xml_attribute, change_kind, change_edge, change_elements, change_constant),
    *(change_values, change_values, change_weights),
)
PROLOGUES = (
    b'<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa">]>',
    b'<!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    b'<!DOCTYPE net SYSTEM "file:///etc/passwd">',
    b"<?xml-stylesheet href='file:///etc/passwd'?>",
    b"<!-- " + b"-" * 5000 + b" -->",
    b"<![CDATA[x]]>",
    b'<?xml version="1.1"?>',
    b"\0",
    b" " * 5000,
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "utf-8-sig", "cp037", "ascii", "idna", "rot13", "zip")


def change_encoding(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Add a document type, an encoding other than the declared one, or characters that XML does not allow."""
    declaration, _, body = data.partition(b"?>")
    action = rng.randrange(4)
    if action == 0:
        chosen = rng.choice(PROLOGUES)
        return rng.choice((declaration + b"?>" + chosen + body, chosen + data, data + chosen)), f"{chosen[:30]!r}"
    if action == 1:
        encoding = rng.choice(ENCODINGS)
        named = f'<?xml version="1.0" encoding="{encoding}"?>'.encode()
        return rng.choice((named + body, named + b"\xff\xfe" + body)), f"declared {encoding}"
    if action == 2:
        encoding = rng.choice(ENCODINGS[:7])
        with contextlib.suppress(UnicodeError):
            return data.decode().replace("utf-8", encoding).encode(encoding), f"written in {encoding}"
    reference = rng.choice((b"&#0;", b"&#xD800;", b"&#10;", b"&#x1F600;", b"&a;", b"&lt;", b"&amp;" * 1000, b"]]>"))
    at = data.find(b'"', rng.randrange(len(data))) + 1
    return data[:at] + reference + data[at:], f"{reference[:10]!r} at {at}"


def damage_ir(files: Files, rng: random.Random) -> tuple[Files, list[str]]:
    data, log = files["model.xml"], []
    assert isinstance(data, bytes)
    style = rng.random()
    if style < 0.8:
        net = ElementTree.fromstring(data)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            if len(ElementTree.tostring(net)) < LARGEST:
                log.append(change_once(IR_MUTATIONS, net, files, rng))
        text = ElementTree.tostring(net, encoding="unicode")
        data = b"<?xml version='1.0' encoding='utf-8'?>\n" + text.encode("utf-8", "xmlcharrefreplace")
    if 0.75 < style < 0.9:
        data, said = change_encoding(data, rng)
        log.append(said)
    elif style >= 0.9:
        data = damage_bytes(data, rng, b"&<>'\"0123456789-,?.opset8f32i64NaN" * 9)
        log.append("bytes")
    return {**files, "model.xml": data}, log
