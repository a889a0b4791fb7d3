"""The playground: a page to try the operators, in one HTML file that needs neither a server nor a network.

The page computes results in JavaScript, by the same rules and with the same messages as the library.
tests/playground/test_playground.py compares the two. The file has the table of op versions as JSON.
"""

from gatherscatter.playground.page_file import page, write

__all__ = ["page", "write"]
