"""What a call on a stored array has done, or would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """What a call has done; with ``dry_run=True`` what it would do.

    Attributes
    ----------
    call : the function, and a scatter's reduction
    tuples : how many index tuples there are
    chunks : how many chunks they touch; shards, where the array has shards and is written
    chunks_total : how many the array has
    bytes_read, bytes_written : how much that is, without compression
    resumed : how many chunks an earlier run of the same job had written
    snapshot : the commit, where there is one
    dry_run : whether nothing was done
    """

    call: str
    tuples: int
    chunks: int
    chunks_total: int
    bytes_read: int
    bytes_written: int
    resumed: int = 0
    snapshot: str | None = None
    dry_run: bool = False

    def __str__(self) -> str:
        touched = f"{self.tuples} index tuples touch {self.chunks} of {self.chunks_total} chunks"
        moved = f"{self.bytes_read} bytes read, {self.bytes_written} bytes written"
        notes = [f"chunks that were written before: {self.resumed}"] if self.resumed else []
        notes += [f"snapshot {self.snapshot}"] if self.snapshot else []
        notes += ["nothing was done"] if self.dry_run else []
        return f"{self.call}: " + "; ".join([touched, moved, *notes])


Progress = Callable[[int, int, int], None]  # chunks done, chunks in all, bytes moved
