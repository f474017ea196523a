"""What chaos counts, and what broke first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, Literal

Fault = Literal["duplicates", "lost", "hung", "leaked", "broken"]
FAULTS: Final[tuple[Fault, ...]] = ("duplicates", "lost", "hung", "leaked")

SHOWN_BREAKS: Final = 20
"""Faults that are told one by one; the rest is only counted."""


class Ledger:
    """Calls that were accepted, their terminal outcomes, and every rule that did not hold.

    duplicates: terminal frames beyond the first, or unlike it. lost: accepted calls whose
    terminal frame never came. hung: calls, streams and requests that did not end in time.
    leaked: what the server still holds at the end. broken: any other rule.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._faults: Counter[Fault] = Counter()
        self.calls = 0
        self.terminals = 0
        self.evil: Counter[str] = Counter()
        """What was done, by kind: to see that a run did its work."""

    def broke(self, fault: Fault, what: str) -> None:
        """A rule does not hold."""
        self._faults[fault] += 1
        total = self._faults.total()
        if total <= SHOWN_BREAKS:
            first = "broke first: " if total == 1 else "broke: "
            self._tell(f"{first}{fault}: {what}")

    def count(self, fault: Fault) -> int:
        """How often a rule did not hold."""
        return self._faults[fault]

    @property
    def clean(self) -> bool:
        """Whether every rule held, and there were calls to hold it."""
        return not self._faults.total() and self.calls > 0 and self.calls == self.terminals

    @property
    def line(self) -> str:
        """The last line of a run."""
        faults = " ".join(f"{fault}={self._faults[fault]}" for fault in FAULTS)
        return f"calls={self.calls} terminals={self.terminals} {faults}"
