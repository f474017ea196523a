"""What a lost client gets anew when messages are gone from the ring (RESUME_GAP).

The invocations that wait for an answer, the teardowns that are waited for, and the
outcomes that are kept. Frames that were never written still wait in the outbox, which also
remembers the answers that were lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.call_machine import Phase
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import AbortHandler

if TYPE_CHECKING:
    from sidecall_server.runtime.session import Session


def resend_after_gap(session: Session) -> None:
    """Queue what matters again; the client drops what it knows by token and by call."""
    for call in session.calls():
        frames = [
            call.completed_data or None,
            call.hook,
            call.invocation if call.phase is Phase.HANDLER else None,
        ]
        for frame in frames:
            if frame is not None and not session.outbox.waits(frame):
                session.outbox.send(frame)
        if call.phase is Phase.TEARDOWN and call.invocation is not None:
            session.send(
                AbortHandler(
                    call.invocation.invocation_token,
                    call.reference,
                    call.state.claim.reason if call.state.claim else AbortReason.CANCELLED,
                    True,
                    call.teardown_seconds,
                )
            )
