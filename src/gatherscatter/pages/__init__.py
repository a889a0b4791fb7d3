"""What all HTML pages share: templates, the script policy, data, palette, style sheet and scripts."""
