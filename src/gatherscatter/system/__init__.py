"""Files, processes, optional packages, memory and the machine."""
