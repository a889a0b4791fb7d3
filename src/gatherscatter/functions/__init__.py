"""Array functions that are made of calls of the core."""
