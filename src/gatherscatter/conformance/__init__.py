"""The conformance lab: run test vectors of all op versions on any runtime, and report departures."""

TIMEOUT = 10.0
"""The default time limit of a case, in seconds."""
