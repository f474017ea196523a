"""The gate: calls that may run together share it, all others hold it alone (R4, G2).

First come, first served: a call that may share does not overtake one that waits. There
is one gate per session for direct calls and one per cell for its nested ones, so that a
script can call tools while its own ``exec`` holds the session's gate.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class Gate:
    """A first-in-first-out shared/exclusive gate of tickets.

    A ticket is any hashable value. `enter` calls `admit` when the ticket may pass: at
    once, or in a later `leave`.
    """

    def __init__(self) -> None:
        self._holders: dict[Hashable, bool] = {}
        self._held_alone = False
        self._queue: OrderedDict[Hashable, tuple[bool, Callable[[], None]]] = OrderedDict()
        self._admitting = False

    def enter(self, ticket: Hashable, *, exclusive: bool, admit: Callable[[], None]) -> None:
        """Queue the ticket. A ticket must not be in the gate twice."""
        assert ticket not in self._holders, "one entry per ticket"
        assert ticket not in self._queue, "one entry per ticket"
        self._queue[ticket] = (exclusive, admit)
        self._admit_next()

    def leave(self, ticket: Hashable) -> None:
        """Release the gate or leave the queue at once. Nothing happens to a stranger."""
        alone = self._holders.pop(ticket, None)
        if alone is None:
            self._queue.pop(ticket, None)
        elif alone:
            self._held_alone = False
        if self._queue:
            self._admit_next()

    @property
    def empty(self) -> bool:
        """Whether nobody holds it or waits."""
        return not self._holders and not self._queue

    def __len__(self) -> int:
        return len(self._holders) + len(self._queue)

    def _admit_next(self) -> None:
        if self._admitting:  # an admitted call may leave at once: the loop below goes on
            return
        self._admitting = True
        try:
            while self._queue:
                ticket, (exclusive, admit) = next(iter(self._queue.items()))
                if self._held_alone or (exclusive and self._holders):
                    return
                del self._queue[ticket]
                self._holders[ticket] = self._held_alone = exclusive
                admit()
        finally:
            self._admitting = False


class Gates:
    """The gates of a session: one for direct calls, under no name, and one for each cell's."""

    def __init__(self) -> None:
        self._direct = Gate()
        self._cells: dict[str, Gate] = {}

    def enter(
        self, name: str, ticket: Hashable, *, exclusive: bool, admit: Callable[[], None]
    ) -> None:
        """Queue the ticket at a gate."""
        gate = self._cells.setdefault(name, Gate()) if name else self._direct
        gate.enter(ticket, exclusive=exclusive, admit=admit)

    def leave(self, name: str, ticket: Hashable) -> None:
        """Release the gate or leave its queue; a cell's gate that nobody uses goes."""
        if not name:
            self._direct.leave(ticket)
        elif (gate := self._cells.get(name)) is not None:
            gate.leave(ticket)
            if gate.empty:
                self._cells.pop(name, None)

    @property
    def empty(self) -> bool:
        """Whether nobody holds one or waits."""
        return self._direct.empty and not self._cells
