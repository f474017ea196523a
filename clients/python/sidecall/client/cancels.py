"""What an agent says that has no call to end: cancels, which are answered, and notices."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from sidecall.client import requests
from sidecall.client.errors import SidecallError
from sidecall.client.link import Place
from sidecall.client.values import CallReference, CancelDisposition
from sidecall.v1 import runtime_stream_pb2 as pb

Dispositions = dict[CallReference, CancelDisposition]


class Cancels:
    """Matches answers and refusals to what was said."""

    def __init__(self, send: Callable[[pb.ClientFrame, Place], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._cancels: dict[int, asyncio.Future[Dispositions]] = {}
        self._notices: dict[asyncio.Future[None], Place] = {}

    def cancel(
        self, calls: Sequence[CallReference] | None, turn_id: str | None
    ) -> asyncio.Future[Dispositions]:
        """Cancel calls, a turn's, or all; done when the server has answered."""
        cancel_id = next(self._ids)
        future: asyncio.Future[Dispositions] = asyncio.get_running_loop().create_future()
        self._cancels[cancel_id] = future
        target = requests.cancel_target(calls, turn_id)
        frame = pb.CancelCalls(cancel_id=cancel_id, target=target)
        self._send(pb.ClientFrame(cancel_calls=frame), Place())
        return future

    def barrier(self) -> asyncio.Future[Dispositions]:
        """Done when the server has read everything that was said before: it answers a cancel of
        no calls in order."""
        return self.cancel([], None)

    def notify(self, frame: pb.ClientFrame) -> asyncio.Future[None]:
        """Say what has no answer; done when the server has read it, or refused it."""
        place = Place()
        self._send(frame, place)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._notices[future] = place
        self.barrier().add_done_callback(lambda read: self._read(future, read))
        return future

    def answered(self, frame: pb.CancelResult) -> None:
        """The server has answered a cancel."""
        future = self._cancels.pop(frame.cancel_id, None)
        if future is not None and not future.done():
            future.set_result(requests.disposition_of(frame))

    def refused(self, frame: pb.FrameError, error: SidecallError) -> bool:
        """Tell who said what the frame error concerns. False: nobody here."""
        for future, place in self._notices.items():
            if place.covered_by(frame):
                _fail(future, error)
                return True
        return False

    def lost(self, error: SidecallError) -> None:
        """Nobody will answer."""
        cancels = list(self._cancels.values())
        self._cancels.clear()
        for future in cancels:
            _fail(future, error)

    def _read(self, notice: asyncio.Future[None], barrier: asyncio.Future[Dispositions]) -> None:
        del self._notices[notice]
        error = None if barrier.cancelled() else barrier.exception()
        if error is not None:
            _fail(notice, error)
        elif not notice.done():
            notice.set_result(None)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # nobody has to ask for it
