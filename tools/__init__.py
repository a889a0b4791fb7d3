"""Programs for developers of the package."""
