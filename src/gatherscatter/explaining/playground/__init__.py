"""The playground: a page of this machine in which you edit a call. The library makes the call and explains it.

`gatherscatter.explaining.playground.server` serves the page, and a process of `calls` makes the calls.
"""
