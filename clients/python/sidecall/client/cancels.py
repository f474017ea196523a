"""What an agent says that has no call to end: cancels, which are answered, and notices."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sidecall.client import requests
from sidecall.client.errors import SidecallError
from sidecall.client.link import Place
from sidecall.client.values import CallReference, CancelDisposition
from sidecall.v1 import runtime_stream_pb2 as pb

Dispositions: TypeAlias = dict[CallReference, CancelDisposition]

When: TypeAlias = Callable[[Callable[[], None]], None]
"""Says what it is given, now or later."""


def at_once(say: Callable[[], None]) -> None:
    """Say it now."""
    say()


class Cancels:
    """Matches answers and refusals to what was said."""

    def __init__(self, send: Callable[[pb.ClientFrame, Place], None]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._cancels: dict[int, _Cancel] = {}
        self._notices: list[_Notice] = []

    def cancel(
        self,
        calls: Sequence[CallReference] | None,
        turn_id: str | None,
        when: When = at_once,
    ) -> asyncio.Future[Dispositions]:
        """Cancel calls, a turn's, or all; done when the server has answered, or refused."""
        cancel_id = next(self._ids)
        target = requests.cancel_target(calls, turn_id)
        frame = pb.ClientFrame(cancel_calls=pb.CancelCalls(cancel_id=cancel_id, target=target))
        cancel = _Cancel(asyncio.get_running_loop().create_future(), Place())
        self._cancels[cancel_id] = cancel
        when(lambda: self._send(frame, cancel.place))
        return cancel.future

    def barrier(self, when: When = at_once) -> asyncio.Future[Dispositions]:
        """Done when the server has read everything that was said before: it answers a cancel of
        no calls in order."""
        return self.cancel([], None, when)

    def notify(
        self,
        frame: pb.ClientFrame,
        *,
        place: Place | None = None,
        settled: Callable[[bool], None] = lambda taken: None,
        when: When = at_once,
    ) -> asyncio.Future[None]:
        """Say what has no answer; done when the server has read it, or refused it.

        Args:
            frame: what to say.
            place: where to remember where it was said; None: nobody else asks.
            settled: called with True when the server has taken it, False when it refused it.
            when: when to say it.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        notice = _Notice(future, place or Place(), settled)
        self._notices.append(notice)

        def say() -> None:
            self._send(frame, notice.place)
            self.barrier().add_done_callback(lambda read: self._read(notice, read))

        when(say)
        return future

    def answered(self, frame: pb.CancelResult) -> None:
        """The server has answered a cancel."""
        cancel = self._cancels.pop(frame.cancel_id, None)
        if cancel is not None and not cancel.future.done():
            cancel.future.set_result(requests.disposition_of(frame))

    def refused(self, frame: pb.FrameError, error: SidecallError) -> bool:
        """Tell who said what the frame error concerns. False: nobody here."""
        notices = [notice for notice in self._notices if notice.place.covered_by(frame)]
        for notice in notices:
            self._notices.remove(notice)
            _fail(notice.future, error)
            notice.settled(False)
        cancels = [one for one, cancel in self._cancels.items() if cancel.place.covered_by(frame)]
        for cancel_id in cancels:
            _fail(self._cancels.pop(cancel_id).future, error)
        return bool(notices or cancels)

    def lost(self, error: SidecallError) -> None:
        """Nobody will answer."""
        waiting: list[_Cancel | _Notice] = [*self._cancels.values(), *self._notices]
        self._cancels.clear()
        self._notices.clear()
        for one in waiting:
            _fail(one.future, error)

    def _read(self, notice: _Notice, barrier: asyncio.Future[Dispositions]) -> None:
        if notice not in self._notices:
            return  # it was refused, or all is lost
        self._notices.remove(notice)
        error = None if barrier.cancelled() else barrier.exception()
        if error is not None:
            _fail(notice.future, error)
        elif not notice.future.done():
            notice.future.set_result(None)
        notice.settled(error is None)


@dataclass(frozen=True, slots=True, eq=False)
class _Cancel:
    future: asyncio.Future[Dispositions]
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class _Notice:
    future: asyncio.Future[None]
    place: Place
    settled: Callable[[bool], None]


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # nobody has to ask for it
