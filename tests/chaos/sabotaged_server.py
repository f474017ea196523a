"""`sidecall serve` with a planted fault, to see that chaos finds it.

Started as ``python -m tests.chaos.sabotaged_server FAULT FLAGS...``.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import DispatchCall, ServerFrame
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.gate import Gate
from sidecall_server.runtime.outbox import Outbox
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions

from tests.chaos import counted_server

EVERY: Final = 4
"""The planted fault strikes at every fourth chance."""

HOARDED_BYTES: Final = 200_000

_chances = itertools.count(1)


def _struck() -> bool:
    return next(_chances) % EVERY == 0


def _drop_terminal() -> None:
    send = Outbox.send

    def sabotaged(self: Outbox, frame: ServerFrame | bytes, *, control: bool = False) -> None:
        if not (_is_terminal(frame) and _struck()):
            send(self, frame, control=control)

    _replace(Outbox, "send", sabotaged)


def _send_terminal_twice() -> None:
    send = Outbox.send

    def sabotaged(self: Outbox, frame: ServerFrame | bytes, *, control: bool = False) -> None:
        send(self, frame, control=control)
        if _is_terminal(frame) and _struck():
            send(self, frame, control=control)

    _replace(Outbox, "send", sabotaged)


def _is_terminal(frame: ServerFrame | bytes) -> bool:
    """Outcomes alone are queued as bytes."""
    return isinstance(frame, bytes)


def _keep_deleted_sessions() -> None:
    forget: Any = Sessions.__dict__["_forget"]

    def sabotaged(self: Sessions, session_id: str) -> None:
        if not _struck():
            forget(self, session_id)

    _replace(Sessions, "_forget", sabotaged)


def _hold_the_gate() -> None:
    leave = Gate.leave

    def sabotaged(self: Gate, *arguments: Any) -> None:
        if not _struck():
            leave(self, *arguments)

    _replace(Gate, "leave", sabotaged)


def _record_what_is_refused() -> None:
    dispatch = Session.dispatch

    def sabotaged(self: Session, frame: DispatchCall) -> None:
        if frame.call.turn_id in self.__dict__["_ended_turns"]:
            self.record_tool_call(frame.call)
        dispatch(self, frame)

    _replace(Session, "dispatch", sabotaged)


def _never_give_up_on_the_lost() -> None:
    _replace(Session, "_grace_ended", lambda self: None)


def _hoard_memory() -> None:
    finish = Session.call_ended
    hoard: list[bytes] = []

    def sabotaged(self: Session, call: Call) -> None:
        finish(self, call)
        hoard.append(os.urandom(HOARDED_BYTES))

    _replace(Session, "call_ended", sabotaged)


def _leave_tasks() -> None:
    close = Session.close
    left: set[asyncio.Task[object]] = set()

    def sabotaged(self: Session, reason: AbortReason) -> int:
        left.add(asyncio.create_task(asyncio.Event().wait()))
        return close(self, reason)

    _replace(Session, "close", sabotaged)


def _replace(owner: type, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


FAULTS: Final[dict[str, Callable[[], None]]] = {
    "drop-terminal": _drop_terminal,
    "send-terminal-twice": _send_terminal_twice,
    "keep-deleted-sessions": _keep_deleted_sessions,
    "hold-the-gate": _hold_the_gate,
    "record-what-is-refused": _record_what_is_refused,
    "hoard-memory": _hoard_memory,
    "leave-tasks": _leave_tasks,
    "never-give-up-on-the-lost": _never_give_up_on_the_lost,
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(counted_server.main(sys.argv[2:]))
