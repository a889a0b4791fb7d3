"""The findings, under their public name."""

from gatherscatter_models.findings.catalog import CONDITIONS, EFFECTS, EVIDENCE, RUNTIMES, Finding, load

__all__ = ["CONDITIONS", "EFFECTS", "EVIDENCE", "RUNTIMES", "Finding", "load"]
