"""The words of errors and reports: sentences, suggestions, hints, and texts from numbers."""
