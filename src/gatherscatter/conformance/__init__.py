"""The conformance lab: test vectors of all op versions, run on any runtime, and where it departs from the text."""
