"""How long to wait before each try to connect again."""

from __future__ import annotations

from collections.abc import Callable

DELAYS_SECONDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Before the first try, the second, …; the last one holds for all that follow."""

STEADY_SECONDS = 1.0
"""A connection that lasted so long was a good one: after it the first try is at once again."""


class Backoff:
    """The delays of one agent, across its connections."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tries = 0
        self._connected_at: float | None = None

    def connected(self) -> None:
        """A connection begins."""
        self._connected_at = self._clock()

    def next_delay(self) -> float:
        """Seconds to wait before the next try."""
        began, self._connected_at = self._connected_at, None
        if began is not None and self._clock() - began >= STEADY_SECONDS:
            self._tries = 0
        delay = DELAYS_SECONDS[min(self._tries, len(DELAYS_SECONDS) - 1)]
        self._tries += 1
        return delay
