"""The window of time in which a cell is measured, on the load side."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.bench.processor import processor_seconds


@dataclass
class Counts:
    """What was counted; named as in `figures.Sample`."""

    calls: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    latencies: list[float] = field(default_factory=list)
    """Seconds of each call; only where one is in flight at a time."""


class Window:
    """Opened once the load is steady, closed while it still is.

    It is over after `seconds`, but not before a call has ended; where these are None, once
    `stopped` is done.
    """

    def __init__(
        self,
        server_pid: int,
        seconds: float | None,
        stopped: asyncio.Future[str] | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        self._server_pid = server_pid
        self._seconds = seconds
        self._stopped = stopped
        self._on_open = on_open
        self._begin = (0.0, 0.0, 0.0)
        self.counts = Counts()

    def open(self) -> None:
        """Forget the warm-up and begin."""
        self.counts = Counts()
        self._on_open()
        self._begin = self._clocks()

    @property
    def over(self) -> bool:
        """Whether it is time to close."""
        if self._seconds is None:
            return self._stopped is None or self._stopped.done()
        return bool(self.counts.calls) and time.perf_counter() - self._begin[0] >= self._seconds

    def close(self) -> dict[str, object]:
        """What happened; what is still counted afterwards is not in it."""
        counts, self.counts = self.counts, Counts()
        seconds, load, server = (
            after - before for before, after in zip(self._begin, self._clocks(), strict=True)
        )
        return {
            "seconds": seconds,
            "load_cpu_seconds": load,
            "server_cpu_seconds": server,
            **vars(counts),
        }

    def _clocks(self) -> tuple[float, float, float]:
        return (
            time.perf_counter(),
            processor_seconds(os.getpid()),
            processor_seconds(self._server_pid),
        )
