"""The reference of the Python interface: a table of pages, filled from docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gatherscatter.system.extras import find_missing


@dataclass(frozen=True)
class Page:
    """A page about modules, or about objects of the package root.

    ``needs`` are packages without which the modules can't be imported; where the site is built without them, the page
    says so.
    """

    name: str
    title: str
    text: str
    functions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


PAGES = (
    Page(
        "arrays",
        "On arrays",
        "The functions of the package root. [Guarantees](../guarantees.md) says what they promise.",
        functions=(
            *("gather", "gather_elements", "gather_nd", "scatter_update", "scatter_elements", "scatter_nd"),
            *("gather_quantized", "gather_reduce", "aggregate", "tensor_scatter", "gather_tree"),
        ),
    ),
    Page(
        "indexing",
        "Indexing notation",
        "[Indexing](../indexing.md) has examples.",
        functions=("at",),
        classes=("functions.at.At", "functions.at.Place"),
    ),
    Page(
        "again",
        "Prepared indices, plans, reports",
        "",
        functions=("prepare", "plan", "inspect"),
        classes=("Prepared", "CallPlan", "IndexReport"),
    ),
    Page(
        "settings",
        "Threads and memory",
        "",
        functions=(
            "num_threads",
            "set_num_threads",
            "register_threadpoolctl",
            "pool_limit",
            "set_pool_limit",
            "pool_size",
        ),
    ),
    Page(
        "errors",
        "Errors",
        "All are raised before anything is written.",
        classes=("OpError", "OpIndexError", "OpValueError", "OpTypeError"),
    ),
    Page(
        "specification",
        "By the specification",
        "The functions of `gatherscatter.onnx`, `.openvino` and `.microsoft` are on the pages of the "
        "[operators](../ops/index.md).",
        functions=("ops", "op", "specs.find", "specs.call"),
        classes=("OpVersion", "specs.Input", "specs.Attribute"),
    ),
    Page(
        "models",
        "Model files",
        "[Run models](../models.md), [ONNX](../onnx.md) and [OpenVINO](../openvino.md) have examples.",
        modules=("gatherscatter_models.loading", "gatherscatter_models.interface"),
        needs=("gatherscatter_models",),
    ),
    Page(
        "onnx-session",
        "ONNX Runtime session",
        "See [ONNX](../onnx.md).",
        modules=("gatherscatter_models.onnx.session",),
        needs=("onnxruntime", "onnx"),
    ),
    Page(
        "onnx-backend",
        "ONNX backend",
        "See [ONNX](../onnx.md).",
        modules=("gatherscatter_models.onnx.backend",),
        needs=("onnx",),
    ),
    Page(
        "openvino-conversion",
        "OpenVINO: conversion and extensions",
        "See [OpenVINO](../openvino.md).",
        modules=("gatherscatter_models.openvino.conversion", "gatherscatter_models.openvino.core_extensions"),
        needs=("openvino", "onnx"),
    ),
    Page("torch", "PyTorch", "See [PyTorch](../pytorch.md).", modules=("gatherscatter.torch",), needs=("torch",)),
    Page(
        "torch-segment",
        "The functions of torch_scatter",
        "See [from torch_scatter](../coming-from/torch_scatter.md).",
        modules=("gatherscatter.torch.segment",),
        needs=("torch",),
    ),
    Page("jax", "JAX", "See [JAX](../jax.md).", modules=("gatherscatter.jax",), needs=("jax",)),
    Page(
        "dask",
        "Dask",
        "See [Dask](../dask.md).",
        modules=("gatherscatter.dask",),
        needs=("dask",),
    ),
    Page("xarray", "xarray", "See [xarray](../xarray.md).", modules=("gatherscatter.xarray",), needs=("xarray",)),
    Page("zarr", "Zarr", "See [Zarr](../zarr.md).", modules=("gatherscatter.zarr",), needs=("zarr",)),
    Page(
        "conformance",
        "Conformance",
        "The package gatherscatter-conformance. See [test vectors](../corpus.md), [conformance](../conformance.md) and "
        "[findings](../findings.md).",
        modules=tuple(
            f"gatherscatter_conformance.{name}"
            for name in ("corpus", "case", "rules", "run", "report", "verdicts", "runtimes", "findings")
        ),
        needs=("gatherscatter_conformance",),
    ),
    Page(
        "extending",
        "For programs that build on gatherscatter",
        "[Build on gatherscatter](../extending.md) lists more modules.",
        modules=("gatherscatter.oracle",),
    ),
    Page(
        "explain",
        "Explanations",
        "See [explain](../explain.md).",
        modules=("gatherscatter.explaining", "gatherscatter.explaining.examples"),
    ),
    Page("doctor", "Doctor", "See [doctor](../doctor.md).", modules=("gatherscatter_models.doctor",), needs=("onnx",)),
)


def pages() -> Iterator[tuple[str, str]]:
    """All pages of the reference, and their list."""
    names = "\n".join(page.name for page in PAGES)
    yield "api/index.md", f"# Reference\n\nFrom the docstrings; their examples run.\n\n```{{toctree}}\n\n{names}\n```\n"
    for page in PAGES:
        yield f"api/{page.name}.md", _page(page)


def _page(page: Page) -> str:
    head = f"# {page.title}\n\n{page.text}\n"
    if missing := find_missing(page.needs):
        return f"{head}\nThis page was built without {', '.join(missing)}, which its docstrings need.\n"
    lines = [f".. autofunction:: gatherscatter.{name}" for name in page.functions]
    lines += [f".. autoclass:: gatherscatter.{name}\n   :members:" for name in page.classes]
    for name in page.modules:
        lines += [
            f"{name}\n{'-' * len(name)}\n",
            f".. automodule:: {name}\n   :members:",
        ]
    body = "\n\n".join(lines)
    return f"{head}\n```{{eval-rst}}\n{body}\n```\n"
