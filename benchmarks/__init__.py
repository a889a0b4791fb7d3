"""The benchmark: a table of workloads, contenders that are checked before they are timed, and reports.

Run it from a clone: ``python -m benchmarks``.
"""
