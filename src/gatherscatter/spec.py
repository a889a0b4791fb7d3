"""Calls of op versions, under their public name."""

from gatherscatter.specs.calls import call

__all__ = ["call"]
