"""Calls that have ended, kept for a while: to be read, and recognised when they come again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from sidecall_server.domain.frames import CallReference
from sidecall_server.runtime.ended_call import EndedCall


class EndedCalls:
    """The ended calls of a session, bounded by their number and their bytes."""

    def __init__(self, max_calls: int, max_bytes: int) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._calls: OrderedDict[CallReference, EndedCall] = OrderedDict()
        self.held_bytes = 0

    def __iter__(self) -> Iterator[EndedCall]:
        """In the order in which they ended."""
        return iter(self._calls.values())

    def __contains__(self, reference: CallReference) -> bool:
        return reference in self._calls

    def get(self, reference: CallReference) -> EndedCall | None:
        """The call, if it is kept."""
        return self._calls.get(reference)

    def keep(self, call: EndedCall) -> None:
        """Keep a call; where there is no room, the oldest ones go."""
        self._calls[call.reference] = call
        self.held_bytes += call.held_bytes
        while len(self._calls) > self._max_calls or self.held_bytes > self._max_bytes:
            _, oldest = self._calls.popitem(last=False)
            self.held_bytes -= oldest.held_bytes

    def clear(self) -> None:
        """Forget them all."""
        self._calls.clear()
        self.held_bytes = 0
