"""What a lost client gets anew when messages are gone from the ring (RESUME_GAP).

The invocations that wait for an answer, and the outcomes that are kept. The outbox by itself
says again what is said only once, and what was never written to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.call_state import Phase
from sidecall_server.runtime.ended_call import EndedCall
from sidecall_server.runtime.outbox import Queued

if TYPE_CHECKING:
    from sidecall_server.runtime.session import Session


def resend_after_gap(session: Session) -> None:
    """Queue what matters again; the client drops what it knows by token and by call."""
    for call in session.calls():
        if isinstance(call, EndedCall):
            _send(session, call.completed_data)
            continue
        asked = call.hook if call.phase in (Phase.PRE_HOOK, Phase.POST_HOOK) else None
        invoked = call.invocation if call.phase is Phase.HANDLER else None
        for frame in (asked, invoked):
            if frame is not None:
                _send(session, frame)


def _send(session: Session, frame: Queued) -> None:
    if not session.outbox.waits(frame):
        session.outbox.send(frame)
