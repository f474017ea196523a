"""Calls whose outcome a gap may have lost: asked about, so that nobody waits for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sidecall.client.aio import AsyncClient
from sidecall.client.calls import Calls
from sidecall.client.errors import NotFoundError, SidecallError
from sidecall.client.link import Link
from sidecall.client.pending import PendingCall

log = logging.getLogger(__name__)

QUIET_SECONDS = 1.0
"""A stream on which nothing came for so long holds no outcome that is still on its way."""

_MOST_WAITS = 10
"""Times that quiet is waited for."""

RETRY_SECONDS = 1.0
"""After a question that was not answered."""


class LostOutcomes:
    """Ends the calls that the server no longer knows, after a gap."""

    def __init__(
        self,
        unary: AsyncClient,
        link: Link,
        calls: Calls,
        barrier: Callable[[], Awaitable[object]],
    ) -> None:
        self._unary = unary
        self._link = link
        self._calls = calls
        self._barrier = barrier
        self._task: asyncio.Task[None] | None = None

    def gap(self, session_id: str) -> None:
        """Messages of the server are gone. Those outcomes that it keeps it tells anew."""
        self.stop()
        self._task = asyncio.create_task(self._settle(session_id, self._calls.sent))

    def stop(self) -> None:
        """Nobody waits any more."""
        if self._task is not None:
            self._task.cancel()

    async def settled(self) -> None:
        """Wait until all that was asked is answered."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _settle(self, session_id: str, calls: Sequence[PendingCall]) -> None:
        try:
            await self._barrier()  # it has read all dispatches: what it does not know has ended
        except SidecallError:
            return  # the session is lost, and everyone is told
        unknown = [call for call in calls if await self._is_unknown(session_id, call)]
        if unknown:
            await self._quiet()
        for call in unknown:
            text = f"the outcome of call {call.call.call_id!r} was lost, and is not kept"
            self._calls.fail(call, NotFoundError(text, reason="CALL_NOT_FOUND"))

    async def _is_unknown(self, session_id: str, call: PendingCall) -> bool:
        while not call.done():
            try:
                await self._unary.get_tool_call(session_id, call.reference)
                return False
            except NotFoundError as error:
                return error.reason == "CALL_NOT_FOUND"
            except SidecallError as error:
                log.warning("asking what became of a call failed: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
        return False

    async def _quiet(self) -> None:
        for _ in range(_MOST_WAITS):
            heard = self._link.last_received
            await asyncio.sleep(QUIET_SECONDS)
            if self._link.last_received == heard:
                return
