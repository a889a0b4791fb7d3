"""The whole conformance run: every runtime, the corpus, the reproducers of all findings, and the pages about them."""
