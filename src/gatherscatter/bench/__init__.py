"""The benchmark: workloads as one table, contenders that are checked before they are timed, and reports.

``gatherscatter bench`` runs it. Nothing here is imported by the rest of the package.
"""
