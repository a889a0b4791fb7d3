"""Arrays whose byte order is not that of this machine."""

from __future__ import annotations

import numpy as np


def swapped(dtype: str) -> np.dtype:
    """Return a type with the other byte order: ``swapped("f4")`` is ``>f4`` on a little-endian machine."""
    return np.dtype(dtype).newbyteorder("S")
