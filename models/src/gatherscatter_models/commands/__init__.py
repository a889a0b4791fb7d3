"""The commands that gatherscatter-models adds to ``gatherscatter``: run, doctor and convert."""
