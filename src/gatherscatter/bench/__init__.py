"""The benchmark: a table of workloads, contenders that are checked before they are timed, and reports.

``gatherscatter bench`` runs it. The rest of the package imports nothing from here.
"""
