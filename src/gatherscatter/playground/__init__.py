"""A page on which one plays with the operators: one file of HTML that needs neither server nor network.

The page computes by itself, in JavaScript, by the same rules and with the same messages;
tests/playground/test_playground.py compares the two. What differs between op versions it reads from the
table of op versions, which the file holds as JSON.
"""

from gatherscatter.playground.page_file import page, write

__all__ = ["page", "write"]
