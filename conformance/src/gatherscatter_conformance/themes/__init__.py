"""The cases of the corpus, as calls without answers: a module per theme."""
