"""The commands that this package adds to ``gatherscatter``: conform and corpus."""
