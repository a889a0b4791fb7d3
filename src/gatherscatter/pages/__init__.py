"""Shared parts of all HTML pages: templates, the script policy, data, palette, style sheet and scripts."""
