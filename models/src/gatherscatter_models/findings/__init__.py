"""Known departures of other runtimes, and which of them apply to a call or a node."""
