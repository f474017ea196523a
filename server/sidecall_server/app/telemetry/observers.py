"""Several observers as one, and the fence around them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from sidecall_server.domain.declarations import HookPoint
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.observer import NULL_OBSERVER, Observer
from sidecall_server.runtime.session import Session

log = logging.getLogger(__name__)


def observer_of(observers: Sequence[Observer]) -> Observer:
    """One observer that stands for all of these; for none, one that costs nothing."""
    return Observers(observers) if observers else NULL_OBSERVER


class Observers(Observer):
    """Tells each in order. One that fails is logged, and told no more: telemetry ends no call."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)
        self._listeners: dict[str, tuple[tuple[Observer, Callable[..., None]], ...]] = {}
        self._assign()

    def session_opened(self, session: Session) -> None:
        self._tell("session_opened", session)

    def session_closed(self, session: Session) -> None:
        self._tell("session_closed", session)

    def call_dispatched(self, session: Session, call: Call) -> None:
        self._tell("call_dispatched", session, call)

    def call_started(self, session: Session, call: Call) -> None:
        self._tell("call_started", session, call)

    def hook_asked(self, session: Session, call: Call, point: HookPoint) -> None:
        self._tell("hook_asked", session, call, point)

    def hook_ended(
        self, session: Session, call: Call, point: HookPoint, verdict: str, seconds: float
    ) -> None:
        self._tell("hook_ended", session, call, point, verdict, seconds)

    def hook_failed_open(self, session: Session, call: Call) -> None:
        self._tell("hook_failed_open", session, call)

    def handler_started(self, session: Session, call: Call) -> None:
        self._tell("handler_started", session, call)

    def handler_answered(self, session: Session, call: Call) -> None:
        self._tell("handler_answered", session, call)

    def call_finished(self, session: Session, call: Call) -> None:
        self._tell("call_finished", session, call)

    def late_result(self, session: Session) -> None:
        self._tell("late_result", session)

    def limit_refused(self, limit: str) -> None:
        self._tell("limit_refused", limit)

    def _tell(self, what: str, *about: object) -> None:
        for observer, listen in self._listeners[what]:
            try:
                listen(*about)
            except Exception:
                self._observers = tuple(one for one in self._observers if one is not observer)
                self._assign()
                log.exception("telemetry failed and is off: %s", type(observer).__name__)

    def _assign(self) -> None:
        """Who is told of what: only those who do something with it."""
        self._listeners = {
            what: tuple(
                (observer, getattr(observer, what))
                for observer in self._observers
                if getattr(type(observer), what) is not nothing
            )
            for what, nothing in vars(Observer).items()
            if not what.startswith("_")
        }
