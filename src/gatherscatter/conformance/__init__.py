"""The conformance lab: run test vectors of all op versions on any runtime, and report departures.

`gatherscatter.conformance.corpus` has the test vectors (cases), `gatherscatter.conformance.run` runs them, and
`gatherscatter.conformance.runtimes` has the runtimes. The command ``gatherscatter conform`` does all of this. See
docs/conformance.md.

>>> from gatherscatter.conformance import corpus
>>> corpus.cases(op="onnx.GatherND-13")[0].op
'onnx.GatherND-13'
"""

TIMEOUT = 10.0
"""The default time limit of a case, in seconds."""
