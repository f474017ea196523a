"""What the runtime tells whoever measures it: sessions, calls and their phases, refusals.

An observer is told on the event loop, in the middle of a call: it must be quick, must not
raise, and must not change what it is given. It sees values, never text to show: arguments and
outputs are in its reach, and keeping them out of logs and metrics is its duty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.declarations import HookPoint

if TYPE_CHECKING:
    from sidecall_server.runtime.call import Call
    from sidecall_server.runtime.session import Session


class Observer:
    """Told what happens. As it stands it does nothing; override what matters."""

    def session_opened(self, session: Session) -> None:
        """A session exists."""

    def session_closed(self, session: Session) -> None:
        """A session has ended, its calls too. What its recorder counted can still be read (S4)."""

    def call_dispatched(self, session: Session, call: Call) -> None:
        """A call is taken and recorded (R2); nothing else has happened yet."""

    def call_started(self, session: Session, call: Call) -> None:
        """The tool exists and takes the payload; the pre hook is next (G13)."""

    def hook_asked(self, session: Session, call: Call, point: HookPoint) -> None:
        """The agent's hooks are asked."""

    def hook_ended(
        self, session: Session, call: Call, point: HookPoint, verdict: str, seconds: float
    ) -> None:
        """The hooks have answered, or their time is over; `verdict` is the kind of answer.

        Not told when the call ended first.
        """

    def hook_failed_open(self, session: Session, call: Call) -> None:
        """The hooks' answer could not be used (F10)."""

    def handler_started(self, session: Session, call: Call) -> None:
        """The frame that invokes the handler goes out now."""

    def handler_answered(self, session: Session, call: Call) -> None:
        """The handler's answer is there, before anything was done with it."""

    def call_finished(self, session: Session, call: Call) -> None:
        """The call has its one outcome (R3), its durations and its terminal frame."""

    def late_result(self, session: Session) -> None:
        """An answer came that nobody waits for any more; it was dropped."""

    def limit_refused(self, limit: str) -> None:
        """Something was refused at a limit, named as in the settings."""


NULL_OBSERVER = Observer()
"""Nobody measures."""
