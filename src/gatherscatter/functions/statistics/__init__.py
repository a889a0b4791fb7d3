"""Statistics of groups: `aggregate` and its parts."""
