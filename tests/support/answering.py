"""A module for an `AnsweringProcess`: it echoes, fails, sleeps or dies."""

from __future__ import annotations

import os
import time

from gatherscatter.system.processes import answer_lines


def answer(question: bytes) -> bytes:
    """Do what the question says."""
    print("noise")
    if question == b"die":
        os.abort()
    if question == b"exit":
        os._exit(3)
    if question == b"fail":
        raise ValueError("it\nfailed")
    if question.startswith(b"sleep"):
        time.sleep(float(question.removeprefix(b"sleep")))
    return question


if __name__ == "__main__":
    answer_lines(answer)
