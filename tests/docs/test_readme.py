"""The examples of the README run and print the documented output. test_docs.py checks all other pages."""

from __future__ import annotations

import doctest
import re

from tests.support.paths import ROOT


def test_the_examples_of_the_readme() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > 15
    assert runner.failures == 0
