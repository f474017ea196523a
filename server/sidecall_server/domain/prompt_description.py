"""A prompt as it is told to the recorder: its outputs, and how they were written."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from sidecall_server.domain.values import PayloadKind


class PromptOutput(NamedTuple):
    """One output of a prompt. `turn_id` None differs from an empty one (M0)."""

    kind: PayloadKind
    call_id: str | None
    turn_id: str | None = None
    item_id: str | None = None


class PromptBase(NamedTuple):
    """The prompt that another one goes on from, and how many of its first outputs stay."""

    prompt: int
    """Its number; 0: none that ever was."""
    kept_outputs: int


class Writing(NamedTuple):
    """The bytes that told a whole prompt, and where in them each of its outputs ends.

    What they mean is their reader's business; here they only serve to recognise them.
    """

    data: bytes = b""
    ends: array[int] = array("Q")

    @property
    def held_bytes(self) -> int:
        """What it takes in memory."""
        return len(self.data) + self.ends.itemsize * len(self.ends)

    def end(self, count: int) -> int:
        """Where the first outputs end."""
        return self.ends[count - 1] if count else 0

    def first(self, count: int) -> Writing:
        """That of the first outputs; itself where it has no more."""
        if count >= len(self.ends):
            return self
        return Writing(self.data[: self.end(count)], self.ends[:count])


def known_outputs(writing: Writing, data: bytes) -> int:
    """How many of the outputs that were written so other bytes begin with."""
    if data.startswith(writing.data):
        return len(writing.ends)
    longest = bisect_right(writing.ends, len(data))
    return bisect_left(
        writing.ends, True, hi=longest, key=lambda end: not data.startswith(writing.data[:end])
    )


class Prompt(NamedTuple):
    """A prompt as it is told: as a whole, or what comes after a base."""

    outputs: Sequence[PromptOutput]
    """In order, without those that are known."""
    base: PromptBase | None = None
    known: int = 0
    """How many first outputs of a whole prompt are those of the last one, by how it was written."""
    writing: Writing | None = None
    """How a whole prompt was written; None: not told."""
