"""What is known of other runtimes, held against a call."""
