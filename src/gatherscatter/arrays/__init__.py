"""Arrays of every library and layout, made ready for the core."""
