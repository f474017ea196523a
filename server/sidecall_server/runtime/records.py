"""What a session records of its calls (J, K, L), and what that takes of the server's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.prompt_description import Prompt
from sidecall_server.domain.recorder import Recorder
from sidecall_server.domain.recorder_answers import (
    Attachment,
    RecordDisposition,
)
from sidecall_server.domain.session_events import CallRecorded, CallsAttached
from sidecall_server.domain.session_options import SessionOptions, TurnOptions
from sidecall_server.domain.values import ToolCall
from sidecall_server.runtime.events import EventFanOut

if TYPE_CHECKING:
    from sidecall_server.runtime.sessions import Sessions


class Records:
    """The recorder of a session, asked as the options say; `registry` counts its bytes."""

    def __init__(self, options: SessionOptions, events: EventFanOut, registry: Sessions) -> None:
        self._options = options
        self._tool_mode = options.effective_tool_mode()
        self._events = events
        self._registry = registry
        self.recorder = Recorder()
        self._counted_bytes = 0

    def record(self, call: ToolCall, turn_options: TurnOptions | None) -> RecordDisposition:
        """Record that a call is attempted (J, R2)."""
        disposition = RecordDisposition.DISABLED
        if self._options.records(turn_options):
            tool_mode = self._tool_mode
            if turn_options is not None:
                tool_mode = self._options.effective_tool_mode(turn_options)
            allowance_bytes = self._registry.record_allowance_bytes
            disposition = self.recorder.record(call, tool_mode, allowance_bytes=allowance_bytes)
            self._count()
        self._events.emit(CallRecorded.of, call, disposition)
        return disposition

    def attach(self, prompt: Prompt, sampling_request_id: str, turn_id: str) -> Attachment:
        """As `Recorder.attach`; tells who watches."""
        attachment = self.recorder.attach(prompt, sampling_request_id, turn_id)
        self._count()
        if attachment.attached:
            self._events.emit(CallsAttached, sampling_request_id, len(attachment.items))
        return attachment

    def end_turn(self, turn_id: str) -> None:
        """As `Recorder.end_turn`."""
        self.recorder.end_turn(turn_id)
        self._count()

    def clear(self) -> None:
        """Forget them all, and what was lost."""
        self.recorder = Recorder()
        self._count()

    def _count(self) -> None:
        held = self.recorder.held_bytes
        self._registry.record_bytes += held - self._counted_bytes
        self._counted_bytes = held
