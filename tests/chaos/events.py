"""Watchers of one session: what they saw together, and which rules that breaks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import grpc
import grpc.aio
from sidecall.v1 import session_service_pb2 as pb

from tests.chaos.accounts import Accounts, Reference

CALL_EVENTS = ("call_recorded", "call_started", "call_finished")


class Events:
    """The events of a session by their number; several watchers fill it."""

    def __init__(self, accounts: Accounts, stub: Any, session_id: str) -> None:
        self._accounts = accounts
        self._stub = stub
        self._session_id = session_id
        self._seen: dict[int, bytes] = {}
        self._numbers: dict[Reference, dict[str, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._lost = 0
        self.first = 0
        self.last = 0

    async def watch(
        self,
        *,
        events: int | None = None,
        slow_seconds: float = 0.0,
        began: asyncio.Event | None = None,
    ) -> None:
        """Watch until the session closes, or for some events."""
        stream = self._stub.WatchSession(pb.WatchSessionRequest(session_id=self._session_id))
        number: int | None = None
        left = events
        try:
            async for event in stream:
                if event.HasField("snapshot"):
                    if number is not None:
                        self._broke("a second snapshot")
                    number = event.event_number
                    self.first = self.first or number + 1
                    if began is not None:
                        began.set()
                else:
                    number = self._take(event, number)
                if left is not None:
                    left -= 1
                    if left <= 0:
                        break
                if slow_seconds:
                    await asyncio.sleep(slow_seconds)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                self._broke(f"the watch ended with {error}")
        finally:
            stream.cancel()

    def check(self) -> None:
        """What must hold of all events that were seen."""
        never = self._accounts.never
        for reference, kinds in self._numbers.items():
            recorded, started = kinds["call_recorded"], kinds["call_started"]
            finished = kinds["call_finished"]
            if reference in never:
                self._broke(f"{reference} was refused, and has events {dict(kinds)}")
            for name, numbers in kinds.items():
                if len(numbers) > 1:
                    self._broke(f"{reference} has several events {name}: {numbers}")
            if recorded and started and recorded[0] > started[0]:
                self._broke(f"{reference} started before it was recorded")
            if started and finished and started[0] > finished[0]:
                self._broke(f"{reference} finished before it started")
        if self.complete:
            for reference in self._accounts.accepted:
                if not self._numbers[reference]["call_recorded"]:
                    self._broke(f"{reference} was accepted and never recorded")

    @property
    def complete(self) -> bool:
        """Whether nothing was missed since the first watch began."""
        return not self._lost and len(self._seen) == self.last - self.first + 1

    def _take(self, event: pb.WatchSessionResponse, previous: int | None) -> int:
        number: int = event.event_number
        kind = event.WhichOneof("event") or ""
        if previous is None:
            self._broke("an event came before the snapshot")
        elif kind == "events_lost":
            self._lost += event.events_lost.count
            if number != previous + event.events_lost.count:
                self._broke(
                    f"{event.events_lost.count} events lost between {previous} and {number}"
                )
            return number
        elif number != previous + 1:
            self._broke(f"event {number} came after {previous}")
        self.last = max(self.last, number)
        data = event.SerializeToString(deterministic=True)
        known = self._seen.setdefault(number, data)
        if known is not data:
            if known != data:
                self._broke(f"two watchers saw another event {number}")
            return number
        if kind in CALL_EVENTS:
            call = getattr(event, kind).call
            self._numbers[Reference(call.turn_id, call.call_id)][kind].append(number)
        return number

    def _broke(self, what: str) -> None:
        self._accounts.broke("broken", what)
