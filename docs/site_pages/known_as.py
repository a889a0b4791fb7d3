"""The page "I know it as": what other libraries call it, and what to call here.

Every line of `LINES` is run by a test, with the arrays of `ARRAYS`: both sides give the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gatherscatter.specs.table import ops
from gatherscatter.text import markdown_table

# Where a line is an assignment, `y` is a copy of `x`, and what it is afterwards is compared.
ARRAYS = """\
x = np.arange(12.0).reshape(3, 4)
i, u = np.array([2, 0, 2]), 100 + x         # rows, and what comes to them
j = np.array([3, 1])                        # columns
a, b = np.array([0, 2, 0]), np.array([1, 3, 1])
p = np.stack([a, b], axis=-1)               # places: as two arrays, as index tuples,
f = np.array([1, 11, 5])                    # and in x.ravel()
v = np.array([5.0, 6.0, 7.0])               # what comes to places
e = np.array([[2, 0, 1, 2], [2, 1, 0, 0]])  # a row for each element,
w = np.arange(8.0).reshape(2, 4)            # and what comes there
far = np.array([2, 5, -9])                  # some are out of range
x3 = np.arange(24.0).reshape(2, 3, 4)       # two batch entries,
i2 = np.array([[2, 0], [1, 1]])             # and their rows
"""


@dataclass(frozen=True)
class Library:
    """A library with its lines: what is written there, and what to write here instead.

    ``setup`` makes its names, ``into`` its arrays; on the right side, arrays stay NumPy's unless ``native``, which
    says that this package takes the library's own.
    """

    title: str
    package: str
    setup: str
    into: str
    native: bool
    lines: tuple[tuple[str, str], ...]


LIBRARIES = (
    Library(
        "NumPy",
        "numpy",
        "import numpy as np",
        "{}",
        True,
        (
            ("np.take(x, i, axis=0)", "gs.gather(x, i, 0)"),
            ("x[:, j]", "gs.gather(x, j, 1)"),
            ('np.take(x, far, axis=0, mode="clip")', 'gs.gather(x, far, 0, mode="clip")'),
            ("np.take_along_axis(x, e, 0)", "gs.gather_elements(x, e, 0)"),
            ("x[a, b]", "gs.at(x)[a, b].get()"),
            ("x[tuple(p.T)]", "gs.gather_nd(x, p)"),
            ("x.take(f)", "gs.gather(x.ravel(), f)"),
            ("x[x[:, 0] > 0]", "gs.at(x)[x[:, 0] > 0].get()"),
            ("y[i] = u", "gs.scatter_update(x, i, u, 0)"),
            ("y[a, b] = v", "gs.at(x)[a, b].set(v)"),
            ("np.put(y, f, v)", "gs.scatter_update(x.ravel(), f, v).reshape(x.shape)"),
            ("np.put_along_axis(y, e, w, 0)", "gs.scatter_elements(x, e, w, 0)"),
            ("np.add.at(y, i, u)", 'gs.scatter_update(x, i, u, 0, reduction="add")'),
            ("np.add.at(y, (a, b), v)", "gs.at(x)[a, b].add(v)"),
            ("np.subtract.at(y, (a, b), v)", "gs.at(x)[a, b].sub(v)"),
            ("np.multiply.at(y, (a, b), v)", "gs.at(x)[a, b].mul(v)"),
            ("np.maximum.at(y, (a, b), v)", "gs.at(x)[a, b].max(v)"),
            ("np.bincount(i, weights=v, minlength=3)", 'gs.scatter_update(np.zeros(3), i, v, reduction="add")'),
        ),
    ),
    Library(
        "PyTorch",
        "torch",
        "import torch",
        "torch.from_numpy({})",
        True,
        (
            ("torch.index_select(x, 0, i)", "gs.gather(x, i, 0)"),
            ("torch.nn.functional.embedding(i, x)", "gs.gather(x, i, 0)"),
            ('torch.nn.functional.embedding_bag(i2, x, mode="sum")', "gs.gather_reduce(x, i2)"),
            ("torch.gather(x, 0, e)", "gs.gather_elements(x, e, 0)"),
            ("torch.take_along_dim(x, e, 0)", "gs.gather_elements(x, e, 0)"),
            ("torch.take(x, f)", "gs.gather(x.ravel(), f)"),
            ("x[a, b]", "gs.at(x)[a, b].get()"),
            ("x.index_copy(0, i, u)", "gs.scatter_update(x, i, u, 0)"),
            ("x.index_add(0, i, u)", 'gs.scatter_update(x, i, u, 0, reduction="add")'),
            ("x.index_put((a, b), v)", "gs.at(x)[a, b].set(v)"),
            ("x.index_put((a, b), v, accumulate=True)", "gs.at(x)[a, b].add(v)"),
            ("x.scatter(0, e, w)", "gs.scatter_elements(x, e, w, 0)"),
            ("x.scatter_add(0, e, w)", 'gs.scatter_elements(x, e, w, 0, reduction="add")'),
            ('x.scatter_reduce(0, e, w, "amax")', 'gs.scatter_elements(x, e, w, 0, reduction="max")'),
            (
                'x.scatter_reduce(0, e, w, "mean", include_self=False)',
                'gs.scatter_elements(x, e, w, 0, reduction="mean", include_self=False)',
            ),
        ),
    ),
    Library(
        "JAX",
        "jax",
        "import jax, jax.numpy as jnp",
        "jnp.asarray({})",
        True,
        (
            ("jnp.take(x, i, axis=0)", "gs.gather(x, i, 0)"),
            ('jnp.take(x, far, axis=0, mode="clip")', 'gs.gather(x, far, 0, mode="clip")'),
            ("jnp.take_along_axis(x, e, 0)", "gs.gather_elements(x, e, 0)"),
            ("x[a, b]", "gs.at(x)[a, b].get()"),
            ("x.at[i].set(u)", "gs.at(x)[i].set(u)"),
            ("x.at[a, b].add(v)", "gs.at(x)[a, b].add(v)"),
            ("x.at[a, b].multiply(v)", "gs.at(x)[a, b].mul(v)"),
            ("x.at[a, b].max(v)", "gs.at(x)[a, b].max(v)"),
            ('x.at[far].add(u, mode="drop")', 'gs.scatter_update(x, far, u, 0, reduction="add", mode="drop")'),
            ("jax.ops.segment_sum(v, i, 3)", 'gs.scatter_update(jnp.zeros(3), i, v, reduction="add")'),
            ("jax.vmap(lambda x, i: jnp.take(x, i, axis=0))(x3, i2)", "gs.gather(x3, i2, 1, batch_dims=1)"),
        ),
    ),
    Library(
        "TensorFlow",
        "tensorflow",
        "import tensorflow as tf",
        "tf.constant({})",
        False,
        (
            ("tf.gather(x, i, axis=0)", "gs.gather(x, i, 0)"),
            ("tf.gather(x3, i2, axis=1, batch_dims=1)", "gs.gather(x3, i2, 1, batch_dims=1)"),
            ("tf.gather_nd(x, p)", "gs.gather_nd(x, p)"),
            ("tf.gather_nd(x3, i2, batch_dims=1)", "gs.gather_nd(x3, i2, batch_dims=1)"),
            ("tf.nn.embedding_lookup(x, i)", "gs.gather(x, i, 0)"),
            ("tf.scatter_nd(p, v, [3, 4])", 'gs.scatter_nd(np.zeros((3, 4)), p, v, reduction="add")'),
            ("tf.tensor_scatter_nd_update(x, p, v)", "gs.scatter_nd(x, p, v)"),
            ("tf.tensor_scatter_nd_add(x, p, v)", 'gs.scatter_nd(x, p, v, reduction="add")'),
            ("tf.tensor_scatter_nd_sub(x, p, v)", 'gs.scatter_nd(x, p, v, reduction="sub")'),
            ("tf.tensor_scatter_nd_max(x, p, v)", 'gs.scatter_nd(x, p, v, reduction="max")'),
            ("tf.math.unsorted_segment_sum(v, i, 3)", 'gs.scatter_update(np.zeros(3), i, v, reduction="add")'),
            (
                "tf.math.unsorted_segment_mean(v, i, 3)",
                'gs.scatter_update(np.zeros(3), i, v, reduction="mean", include_self=False)',
            ),
        ),
    ),
    Library(
        "einx",
        "einx",
        "import einx",
        "{}",
        True,
        (
            ('einx.get_at("[h] w, i -> i w", x, i)', "gs.gather(x, i, 0)"),
            ('einx.get_at("h [w], j -> h j", x, j)', "gs.gather(x, j, 1)"),
            ('einx.get_at("[h w], p [2] -> p", x, p)', "gs.gather_nd(x, p)"),
            ('einx.get_at("[h w], p, p -> p", x, a, b)', "gs.at(x)[a, b].get()"),
            ('einx.get_at("[h] w, n w -> n w", x, e)', "gs.gather_elements(x, e, 0)"),
            ('einx.get_at("n [h] w, n i -> n i w", x3, i2)', "gs.gather(x3, i2, 1, batch_dims=1)"),
            ('einx.get_at("n [h w], n [2] -> n", x3, i2)', "gs.gather_nd(x3, i2, batch_dims=1)"),
            ('einx.set_at("[h] w, i, i w -> [h] w", y, i, u)', "gs.scatter_update(x, i, u, 0)"),
            ('einx.set_at("[h w], p [2], p -> [h w]", y, p, v)', "gs.scatter_nd(x, p, v)"),
            ('einx.add_at("[h w], p [2], p -> [h w]", y, p, v)', 'gs.scatter_nd(x, p, v, reduction="add")'),
            ('einx.add_at("[h] w, n w, n w -> [h] w", y, e, w)', 'gs.scatter_elements(x, e, w, 0, reduction="add")'),
            ('einx.subtract_at("[h w], p, p, p -> [h w]", y, a, b, v)', "gs.at(x)[a, b].sub(v)"),
        ),
    ),
    Library(
        "xarray",
        "xarray",
        "import xarray as xr\n"
        'DIMS = {"x": ("lat", "lon"), "y": ("lat", "lon"), "u": ("row", "lon"), "i": ("row",), "j": ("column",)}',
        'xr.DataArray({0}, dims=DIMS.get("{0}", ("point", "d1", "d2")[:{0}.ndim]))',
        True,
        (
            ("x.isel(lat=i)", 'gs.xarray.gather(x, {"lat": i})'),
            ("x.isel(lat=a, lon=b)", 'gs.xarray.gather(x, {"lat": a, "lon": b})'),
            ("y[dict(lat=i)] = u", 'gs.xarray.scatter(x, {"lat": i}, u)'),
            ("y[dict(lat=a, lon=b)] = v", 'gs.xarray.scatter(x, {"lat": a, "lon": b}, v)'),
        ),
    ),
)


def outcomes(library: Library) -> Iterator[tuple[str, str, Any, Any]]:
    """Both sides of each line, and what they give."""
    for theirs, ours in library.lines:
        names = _names(library)
        wanted = _outcome(theirs, names)
        # What an assignment changed must not reach the other side.
        names = _names(library) if library.native else _names(NUMPY)
        yield theirs, ours, wanted, _outcome(ours, names)


def _names(library: Library) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(f"import numpy as np\nimport gatherscatter as gs\n{library.setup}\n{ARRAYS}", names)
    names["y"] = names["x"].copy()
    for name in [name for name, value in names.items() if isinstance(value, np.ndarray)]:
        names[name] = eval(library.into.format(name), names)
    return names


def _outcome(line: str, names: dict[str, Any]) -> Any:
    try:
        code = compile(line, line, "eval")
    except SyntaxError:
        exec(line, names)
        return names["y"]
    result = eval(code, names)
    return names["y"] if result is None else result


NUMPY = LIBRARIES[0]


def pages() -> Iterator[tuple[str, str]]:
    """The page."""
    yield "known-as.md", "\n\n".join(_page())


def _page() -> Iterator[str]:
    yield "# I know it as … → call this"
    yield (
        "Both sides of every line give the same; a test runs them. Where a line begins with `y`, `y` is a copy of `x` "
        "that is changed; what stands on the right changes nothing unless it is given `out=`. Where indices are bad, "
        "negative or repeated, engines differ: [differences](differences.md). Whole guides: from "
        "[NumPy](coming-from/numpy.md), [torch_scatter](coming-from/torch_scatter.md), "
        "[TensorFlow](coming-from/tensorflow.md), [JAX](coming-from/jax.md), [einx](coming-from/einx.md)."
    )
    yield f"The arrays:\n\n```python\n{ARRAYS}```"
    for library in LIBRARIES:
        yield f"## {library.title}"
        if library.native and library is not NUMPY and library.package != "einx":
            yield f"Arrays of {library.title} go in as they are, and come out."
        yield markdown_table((library.title, "here"), [(f"`{theirs}`", f"`{ours}`") for theirs, ours in library.lines])
    yield "## torch_scatter"
    yield (
        "The same names, in [`gatherscatter.torch.segment`](api/torch-segment.md): `scatter(src, index, dim, "
        'dim_size=n, reduce="mean")`, `scatter_max`, `segment_csr`, `gather_coo`, `scatter_softmax` and so on.'
    )
    yield "## ONNX and OpenVINO"
    names = dict.fromkeys((f"{row.domain}.{row.op_type}", row.kernel) for row in ops())
    lines = [(f"[{name}](ops/{name}.md)", f"`gs.{name}`", f"`gs.{kernel}`") for name, kernel in names]
    yield markdown_table(("operator", "exactly as the specification has it", "on arrays"), lines)
