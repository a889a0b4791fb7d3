"""The versions of the operators, and calls of them."""
