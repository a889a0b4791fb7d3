"""Op versions, and calls of them."""
