"""The conformance lab: test vectors of all op versions, run on any runtime, and where it departs from the text."""

TIMEOUT = 10.0
"""Seconds that a case may take, unless one says otherwise."""
