"""The log of calls and sessions: one record at debug for each call that ends."""

from __future__ import annotations

import logging

from sidecall_server.app.telemetry.finished_call import FinishedCall, log_preview
from sidecall_server.domain.fields import fields_of
from sidecall_server.domain.outcome import Aborted
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session

log = logging.getLogger(__name__)


class CallLog(Observer):
    """Install it only where debug records are wanted: each costs some 20 µs."""

    def __init__(self, *, previews: bool) -> None:
        self._previews = previews

    def session_opened(self, session: Session) -> None:
        log.debug("session opened", extra={"session_id": session.id})

    def session_closed(self, session: Session) -> None:
        log.debug(
            "session closed", extra={"session_id": session.id, "calls": session.terminal_calls}
        )

    def call_finished(self, session: Session, call: Call) -> None:
        outcome = call.outcome
        assert outcome is not None, "the call has ended"
        finished = FinishedCall.of(outcome)
        asked, durations = call.dispatch.call, call.durations()
        fields: dict[str, object] = {
            "session_id": session.id,
            "turn_id": call.reference.turn_id,
            "call_id": call.reference.call_id,
            "tool": asked.tool_name.flat,
            "payload_kind": asked.payload.kind,
            "dispatch_order": call.dispatch_order,
            "outcome": finished.outcome,
            "success": finished.success,
            "lifecycle": outcome.lifecycle,
            "handler_executed": outcome.handler_executed,
            "payload_bytes": call.dispatch.size_bytes,
            "result_bytes": call.result_bytes,
        }
        if call.cell_id:
            fields["cell_id"] = call.cell_id
        if isinstance(outcome.result, Aborted):
            fields["abort_reason"] = outcome.result.reason
            fields["abort_progress"] = outcome.result.progress
            fields["teardown"] = outcome.result.teardown
        for name, seconds in fields_of(durations).items():
            if seconds is not None:
                fields[f"{name}_seconds"] = round(seconds, 6)
        if self._previews and (preview := log_preview(call)) is not None:
            fields["preview"] = preview
        log.debug("call finished", extra=fields)
