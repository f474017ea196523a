"""Reasons to leave: signals, the parent's end, the end of standard input."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Final

PARENT_POLL_SECONDS: Final = 1.0
"""How often to look for the parent where the system cannot say when it ends."""

STDIN_CHUNK_BYTES: Final = 4096


class Shutdown:
    """Collects the reasons to leave, and says how to.

    `requested` is set by the first reason, `forced` by a second signal. `orderly` tells a
    request from outside (a signal) from the loss of whoever started this process.
    """

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.forced = asyncio.Event()
        self.orderly = True
        self.reason = ""
        self.signal_number = 0

    def on_signal(self, number: int) -> None:
        """The first signal asks, the second forces."""
        self.signal_number = number
        if self.requested.is_set():
            self.forced.set()
        self._request(signal.Signals(number).name, orderly=True)

    def on_loss(self, reason: str) -> None:
        """Nobody is there any more who could wait for an orderly end."""
        self._request(reason, orderly=False)

    def _request(self, reason: str, *, orderly: bool) -> None:
        if not self.requested.is_set():
            self.reason = reason
            self.orderly = orderly
            self.requested.set()


@contextlib.contextmanager
def signals(shutdown: Shutdown) -> Iterator[None]:
    """SIGTERM and SIGINT go to the shutdown for the time being."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, shutdown.on_signal, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def parent_watched(parent_pid: int, lost: Callable[[str], None]) -> Iterator[None]:
    """Call `lost` once the parent process is gone.

    A pidfd says so at once. (PR_SET_PDEATHSIG would not do: it follows the parent's thread,
    and the thread that starts a sidecar often ends early.) Elsewhere the parent's id is polled.
    """
    loop = asyncio.get_running_loop()
    try:
        parent = os.pidfd_open(parent_pid)
    except (AttributeError, OSError):
        parent = None
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if os.getppid() != parent_pid:
            lost("the parent process is gone")
        elif parent is None:
            timer = loop.call_later(PARENT_POLL_SECONDS, look)

    def ended() -> None:
        assert parent is not None
        loop.remove_reader(parent)
        lost("the parent process is gone")

    if parent is not None:
        loop.add_reader(parent, ended)
    look()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        if parent is not None:
            loop.remove_reader(parent)
            os.close(parent)


def watch_stdin(lost: Callable[[str], None]) -> None:
    """Call `lost` on the running loop once standard input ends; what comes before is dropped.

    A thread reads, because standard input may be a file, which no event loop can wait for.
    """
    loop = asyncio.get_running_loop()

    def read() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, STDIN_CHUNK_BYTES):
                pass
        with contextlib.suppress(RuntimeError):  # the loop is closed: too late to matter
            loop.call_soon_threadsafe(lost, "standard input has ended")

    threading.Thread(target=read, name="stdin", daemon=True).start()
