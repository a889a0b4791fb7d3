"""Run test vectors of all op versions on any runtime, and report departures.

`gatherscatter_conformance.corpus` has the test vectors (cases), `gatherscatter_conformance.run` runs them, and
`gatherscatter_conformance.runtimes` has the runtimes. The command ``gatherscatter conform`` does all of this. See
docs/conformance.md.

>>> from gatherscatter_conformance import corpus
>>> corpus.cases(op="onnx.GatherND-13")[0].op
'onnx.GatherND-13'
"""

__version__ = "0.1.0"  # the same as that of gatherscatter

TIMEOUT = 10.0
"""The default time limit of a case, in seconds."""
