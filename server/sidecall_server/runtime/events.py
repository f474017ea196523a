"""The watchers of a session's events.

Emitting never waits: a watcher that reads slowly loses events, and is told how many in their
place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import ParamSpec

from sidecall_server.domain.errors import Reason, ResourceExhausted
from sidecall_server.domain.session_events import EventsLost, NumberedEvent, SessionEvent

Parts = ParamSpec("Parts")


class Watcher:
    """One reader of a session's events. Iterate it; close it when done."""

    def __init__(self, fan_out: EventFanOut, capacity: int, first_number: int) -> None:
        self._fan_out = fan_out
        self._capacity = capacity
        self._events: deque[NumberedEvent] = deque()
        self._lost = 0
        self._last_lost: NumberedEvent | None = None
        self._ended = False
        self._wake = asyncio.Event()
        self.first_number = first_number
        """The number of the last event before the watch began."""

    def put(self, event: NumberedEvent) -> None:
        """Take an event, or count it as lost."""
        if len(self._events) >= self._capacity:
            self._lost += 1
            self._last_lost = event
            return
        self._tell_lost()
        self._events.append(event)
        self._wake.set()

    def end(self) -> None:
        """No more events come; those that wait can still be read."""
        self._ended = True
        self._wake.set()

    def close(self) -> None:
        """Stop watching."""
        self._fan_out.remove(self)
        self.end()

    def __aiter__(self) -> Watcher:
        return self

    async def __anext__(self) -> NumberedEvent:
        while not self._events:
            self._tell_lost()
            if self._events:
                break
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._events.popleft()

    def _tell_lost(self) -> None:
        if self._last_lost is not None:
            self._events.append(self._last_lost._replace(event=EventsLost(self._lost)))
            self._lost = 0
            self._last_lost = None


class EventFanOut:
    """The events of one session and its watchers."""

    def __init__(self, *, max_watchers: int, capacity: int, wall_clock: Callable[[], float]):
        self._max_watchers = max_watchers
        self._capacity = capacity
        self._wall_clock = wall_clock
        self._watchers: list[Watcher] = []
        self._number = 0

    def emit(
        self, make: Callable[Parts, SessionEvent], *parts: Parts.args, **named: Parts.kwargs
    ) -> None:
        """Tell every watcher; never waits. Where nobody watches, the event is only counted."""
        self._number += 1
        if self._watchers:
            event = make(*parts, **named)
            numbered = NumberedEvent(self._number, self._wall_clock(), event)
            for watcher in self._watchers:
                watcher.put(numbered)

    def watch(self) -> Watcher:
        """Begin to watch, from now.

        Raises:
            ResourceExhausted: the session has as many watchers as it may (WATCHER_LIMIT).
        """
        if len(self._watchers) >= self._max_watchers:
            raise ResourceExhausted(
                f"the session is watched by {self._max_watchers} already; close a watch first",
                reason=Reason.WATCHER_LIMIT,
                subject="max_watchers",
            )
        watcher = Watcher(self, self._capacity, self._number)
        self._watchers.append(watcher)
        return watcher

    def remove(self, watcher: Watcher) -> None:
        """Forget a watcher."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def end(self) -> None:
        """The session is over: watchers end after what they still have to read."""
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher.end()

    def __len__(self) -> int:
        return len(self._watchers)
