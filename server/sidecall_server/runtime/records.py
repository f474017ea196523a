"""What a session records of its calls (J, K, L), and what that takes of the server's memory.

A call that is dispatched is entered here before anything else happens to it (R2). Its record is
written out when somebody looks, and at the latest in the next turn of the event loop: no answer
depends on what a record says, so the agent is answered first. Nobody can tell the difference:
who looks into the recorder, or changes what is in it, finds every call that was entered, in
order, and where somebody watches each record is written, and told, at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sidecall_server.domain.outline import Prompt
from sidecall_server.domain.recorder import Attachment, RecordDisposition, Recorder
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
        self._events = events
        self._registry = registry
        self._recorder = Recorder()
        self._entered: deque[tuple[ToolCall, TurnOptions | None]] = deque()
        """Calls whose records are not written out yet, in order."""
        self._counted_bytes = 0

    @property
    def recorder(self) -> Recorder:
        """The recorder, with a record of every call that was entered."""
        self.write_out()
        return self._recorder

    def enter(self, call: ToolCall, turn_options: TurnOptions | None) -> None:
        """A call is attempted (J, R2)."""
        self._entered.append((call, turn_options))
        if len(self._events):
            self.write_out()

    def record(self, call: ToolCall, turn_options: TurnOptions | None) -> RecordDisposition:
        """The same, where it is to be known what became of the record."""
        self.write_out()
        return self._record(call, turn_options)

    def write_out(self) -> None:
        """Write the records of the calls that were entered."""
        while self._entered:
            self._record(*self._entered.popleft())

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
        self._entered.clear()
        self._recorder = Recorder()
        self._count()

    def _record(self, call: ToolCall, turn_options: TurnOptions | None) -> RecordDisposition:
        disposition = RecordDisposition.DISABLED
        if self._options.records(turn_options):
            disposition = self._recorder.record(
                call,
                self._options.effective_tool_mode(turn_options),
                allowance_bytes=self._registry.record_allowance_bytes,
            )
            self._count()
        self._events.emit(CallRecorded.of, call, disposition)
        return disposition

    def _count(self) -> None:
        held = self._recorder.held_bytes
        self._registry.record_bytes += held - self._counted_bytes
        self._counted_bytes = held
