"""Runtimes that misbehave deliberately, to test the distinction of verdicts. Otherwise they are right."""

from __future__ import annotations

from typing import ClassVar

from gatherscatter_conformance.case import Case
from gatherscatter_conformance.runtimes import Runtime
from gatherscatter_conformance.runtimes.ours import Arrays


class Misbehaving(Arrays):
    """Does ``instead`` if the case has the kind ``where``, or always if ``where`` is empty."""

    title: ClassVar[str] = "misbehaving"
    where: ClassVar[str] = ""
    instead: ClassVar[str] = ""
    after: ClassVar[str] = ""

    def source(self, case: Case) -> str:
        right = super().source(case)
        if self.where not in ("", case.kind):
            return right
        return self.instead or right + self.after


class Segfault(Misbehaving):
    where = "negative"
    instead = "import ctypes\nctypes.string_at(0)\n"


class Exit(Misbehaving):
    where = "negative"
    instead = "import os, sys\nprint('the last words', file=sys.stderr, flush=True)\nos._exit(3)\n"


class Hang(Misbehaving):
    where = "negative"
    instead = "import time\ntime.sleep(60)\n"


class Patient(Misbehaving):
    """Sleeps for a minute in every call."""

    instead = "import time\ntime.sleep(60)\n"


class LateCrash(Misbehaving):
    """Accepts a bad index, and crashes in the second call after it."""

    setup = f"{Arrays.setup}\nbroken = []"

    def source(self, case: Case) -> str:
        crash = "import ctypes\nif len(broken) > 1: ctypes.string_at(0)\nif broken: broken.append(1)\n"
        if case.kind == "out of range":
            return f"{crash}broken.append(1)\ngot = data.copy()\n"
        return crash + Arrays.source(self, case)


class Uninitialised(Misbehaving):
    """Does not write its result."""

    after = "got = np.empty(got.shape, got.dtype)\n"


class ReadsBeside(Misbehaving):
    """Reads out of bounds for a bad index."""

    where = "out of range"
    instead = "got = np.lib.stride_tricks.as_strided(data, (data.size + 8,), (data.itemsize,))[data.size:].copy()\n"


class WritesBeside(Misbehaving):
    after = "np.lib.stride_tricks.as_strided(data, (data.size + 1,), (data.itemsize,))[data.size:] = 1\n"


class ChangesInput(Misbehaving):
    after = "data[...] = 7\n"


class Racy(Misbehaving):
    """Sometimes gives a different result."""

    after = "import random\ngot = got + np.array(random.randrange(1 << 20), got.dtype)\n"


class Noisy(Misbehaving):
    """Prints from Python and from the system's file descriptors."""

    after = "import os\nprint('noise')\nos.write(1, bytes(range(256)))\nos.write(2, b'more noise')\n"


class Narrow(Misbehaving):
    """Computes in 32 bits."""

    instead = (
        "data, updates = data.astype(np.int32), updates.astype(np.int32)\n"
        "got = gs.scatter_nd(data, indices, updates).astype(np.int64)\n"
    )


class Lenient(Misbehaving):
    where = "out of range"
    instead = "got = data.copy()\n"


class Strict(Misbehaving):
    instead = "raise RuntimeError('not today')\n"


class Broken(Runtime):
    """Fails to load."""

    name = title = "broken"
    package = "numpy"
    modules = ("numpy",)
    setup = "import there_is_no_such_module"
