"""Conversion of arrays of every library and layout for the core."""
