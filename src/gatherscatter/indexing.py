"""NumPy's indexing notation for gathers and scatters, under its public name."""

from gatherscatter.functions.at import At, Place, at

__all__ = ["At", "Place", "at"]
