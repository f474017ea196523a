"""A write that begins at once, in the turn of the event loop in which it is asked for.

A task would begin it in the next turn: for a call that is alone, that is a look at all sockets
and a cold start more, for each of its answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class BegunWrite:
    """Runs a coroutine without a task; each future that it waits for goes on with it.

    `tell` is told its error, or None, once: maybe before the constructor returns.
    """

    def __init__(
        self, write: Coroutine[Any, Any, None], tell: Callable[[BaseException | None], None]
    ) -> None:
        self._write = write
        self._tell = tell
        self._waits_for: asyncio.Future[Any] | None = None
        self.ended = False
        self._go_on(None)

    def abandon(self) -> None:
        """Nobody waits for it any more: as a task that is cancelled, it is not told."""
        if not self.ended:
            self.ended = True
            self._write.close()
            if self._waits_for is not None:
                self._waits_for.cancel()

    def _go_on(self, _waited_for: asyncio.Future[Any] | None) -> None:
        if self.ended:
            return
        try:
            future: asyncio.Future[Any] | None = self._write.send(None)
        except StopIteration:
            self._end(None)
        except BaseException as error:  # noqa: BLE001  it goes to who would have awaited the write
            self._end(error)
        else:
            self._wait_for(future)

    def _wait_for(self, future: asyncio.Future[Any] | None) -> None:
        """Of None, which `asyncio.sleep(0)` gives, for the next turn."""
        self._waits_for = future
        if future is None:
            asyncio.get_running_loop().call_soon(self._go_on, None)
        else:
            future._asyncio_future_blocking = False  # as a task says that it waits for it
            future.add_done_callback(self._go_on)

    def _end(self, error: BaseException | None) -> None:
        self.ended = True
        self._tell(error)
