"""What a server holds at a moment: sessions, open calls, bytes, and what recorders lost.

Counted when somebody asks, so that calls pay nothing for it. Whoever asks from another thread
gets the count taken on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import Future
from typing import Final, Literal, NamedTuple

from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.fields import fields_of, names_of
from sidecall_server.domain.recorder_answers import (
    RecorderLosses,
)
from sidecall_server.domain.session_events import SessionState
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions

CENSUS_SECONDS: Final = 5.0
"""How long another thread waits for the event loop."""

_LOSS_CAUSES: Final = names_of(RecorderLosses)
_LIVE_STATES: Final = tuple(state for state in SessionState if state is not SessionState.CLOSED)
_OPEN_PHASES: Final = tuple(phase for phase in Phase if phase is not Phase.TERMINAL)


class Measure(NamedTuple):
    """One thing that is counted, per value of one label (an empty label: one count, of "")."""

    name: str
    """Words joined by dots."""
    kind: Literal["gauge", "counter"]
    unit: str
    """As in UCUM."""
    label: str
    description: str


MEASURES: Final = (
    Measure("sessions", "gauge", "{session}", "state", "Sessions that are not closed, by state."),
    Measure("open_calls", "gauge", "{call}", "phase", "Open calls; readiness and queued wait."),
    Measure("outbox.frames", "gauge", "{frame}", "", "Frames that wait to be written to agents."),
    Measure("watchers", "gauge", "{watcher}", "", "Watchers of sessions."),
    Measure("payload.in_flight", "gauge", "By", "", "Bytes of the payloads of open calls."),
    Measure("records.held", "gauge", "By", "", "Bytes of the executed-call records held."),
    Measure(
        "records.lost",
        "counter",
        "{record}",
        "cause",
        "Records or mappings refused, cut or dropped, by cause (SPEC S4).",
    ),
)
"""What a census counts."""


class Census(Observer):
    """Counts on demand. Tell it of sessions that close: their recorders' losses go with them."""

    def __init__(self) -> None:
        self._closed_losses: Counter[str] = Counter()

    def begin(self, sessions: Sessions) -> None:
        """Count these sessions; called on their event loop."""
        self._sessions = sessions
        self._loop = asyncio.get_running_loop()

    def session_closed(self, session: Session) -> None:
        self._closed_losses.update(fields_of(session.recorder.losses))

    def take_from_thread(self) -> dict[str, dict[str, int]]:
        """Count, from any thread but the event loop's.

        Raises:
            TimeoutError: the event loop does not answer within `CENSUS_SECONDS`.
        """
        counted: Future[dict[str, dict[str, int]]] = Future()
        self._loop.call_soon_threadsafe(lambda: counted.set_result(self.take()))
        return counted.result(CENSUS_SECONDS)

    def take(self) -> dict[str, dict[str, int]]:
        """Per name of `MEASURES` the counts by label value; on the event loop."""
        states: Counter[SessionState] = Counter()
        phases: Counter[Phase] = Counter()
        losses = self._closed_losses.copy()
        outbox_frames = payload_bytes = watchers = 0
        for session in self._sessions:
            states[session.state] += 1
            phases.update(call.phase for call in session.open_calls.values())
            losses.update(fields_of(session.recorder.losses))
            outbox_frames += session.outbox.backlog
            payload_bytes += session.bytes_in_flight
            watchers += len(session.events)
        return {
            "sessions": {state.value: states[state] for state in _LIVE_STATES},
            "open_calls": {phase.name.lower(): phases[phase] for phase in _OPEN_PHASES},
            "outbox.frames": {"": outbox_frames},
            "watchers": {"": watchers},
            "payload.in_flight": {"": payload_bytes},
            "records.held": {"": self._sessions.record_bytes},
            "records.lost": {cause: losses[cause] for cause in _LOSS_CAUSES},
        }
