"""session_service.proto: options come in; sessions and their events go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, Final, Protocol

from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import session_service_pb2 as pb
from sidecall.v1 import tool_call_pb2

from sidecall_server.domain.fields import replace
from sidecall_server.domain.recorder_answers import (
    RecordDisposition,
    RecorderLosses,
    RecorderSizes,
)
from sidecall_server.domain.session_events import (
    CallFinished,
    CallRecorded,
    CallsAttached,
    CallStarted,
    EventsLost,
    ExternalContextMarked,
    NumberedEvent,
    SessionState,
    StateChanged,
)
from sidecall_server.domain.session_options import (
    PostHookBlock,
    SessionOptions,
    ToolModeOptions,
    TurnOptions,
)
from sidecall_server.domain.values import ToolMode
from sidecall_server.wire.call_outcome import (
    KnownCall,
    write_call_durations,
    write_call_outcome,
    write_call_reference,
    write_call_status,
)
from sidecall_server.wire.durations import write_timestamp
from sidecall_server.wire.tool_call import TOOL_MODE_NUMBERS, TOOL_MODES, write_tool_name
from sidecall_server.wire.tool_output import read_views, write_views
from sidecall_server.wire.validation import Problems, checked, read_enum

_REQUESTED_MODES: Final[Mapping[int, ToolMode | None]] = {
    tool_call_pb2.TOOL_MODE_UNSPECIFIED: None,
    **TOOL_MODES,
}
_BLOCKS: Final[Mapping[int, PostHookBlock]] = {
    pb.POST_HOOK_BLOCK_UNSPECIFIED: PostHookBlock.REPLACE_OUTPUT,
    pb.POST_HOOK_BLOCK_REPLACE_OUTPUT: PostHookBlock.REPLACE_OUTPUT,
    pb.POST_HOOK_BLOCK_REJECT_RESULT: PostHookBlock.REJECT_RESULT,
}
_BLOCK_NUMBERS: Final = {
    PostHookBlock.REPLACE_OUTPUT: pb.POST_HOOK_BLOCK_REPLACE_OUTPUT,
    PostHookBlock.REJECT_RESULT: pb.POST_HOOK_BLOCK_REJECT_RESULT,
}
_STATES: Final = {
    SessionState.OPEN: pb.SESSION_STATE_OPEN,
    SessionState.ATTACHED: pb.SESSION_STATE_ATTACHED,
    SessionState.DETACHED: pb.SESSION_STATE_DETACHED,
    SessionState.CLOSED: pb.SESSION_STATE_CLOSED,
}
_DISPOSITIONS: Final = {
    RecordDisposition.RECORDED: pb.RECORD_DISPOSITION_RECORDED,
    RecordDisposition.MARKED: pb.RECORD_DISPOSITION_MARKED,
    RecordDisposition.DROPPED: pb.RECORD_DISPOSITION_DROPPED,
    RecordDisposition.SKIPPED: pb.RECORD_DISPOSITION_SKIPPED,
    RecordDisposition.DISABLED: pb.RECORD_DISPOSITION_DISABLED,
    RecordDisposition.DUPLICATE: pb.RECORD_DISPOSITION_DUPLICATE,
}


class KnownRecorder(Protocol):
    """What a session's recorder tells of itself."""

    @property
    def losses(self) -> RecorderLosses: ...
    @property
    def held_bytes(self) -> int: ...
    def sizes(self) -> RecorderSizes: ...


class KnownSession(Protocol):
    """What a session of the runtime tells of itself."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> SessionState: ...
    @property
    def options(self) -> SessionOptions: ...
    @property
    def created_at(self) -> float: ...
    @property
    def open_calls(self) -> Sized: ...
    @property
    def terminal_calls(self) -> int: ...
    @property
    def external_context_marked(self) -> bool: ...
    @property
    def recorder(self) -> KnownRecorder: ...
    @property
    def hooks_failed_open(self) -> int: ...
    @property
    def late_results(self) -> int: ...
    @property
    def events(self) -> Sized: ...


DEFAULT_OPTIONS: Final = SessionOptions()

# --- options --------------------------------------------------------------------------


def read_session_options(
    message: pb.SessionOptions, path: str, defaults: SessionOptions = DEFAULT_OPTIONS
) -> SessionOptions:
    """What a session says about itself; what it does not say is as in `defaults`."""
    problems = Problems()
    said: dict[str, Any] = {"display_name": message.display_name}
    if message.HasField("recorder_enabled"):
        said["recorder_enabled"] = message.recorder_enabled
    if message.HasField("mark_external_context"):
        said["mark_external_context"] = message.mark_external_context
    with problems:
        said["post_hook_block"] = read_enum(
            _BLOCKS, message.post_hook_block, f"{path}.post_hook_block"
        )
    if message.HasField("tool_mode"):
        with problems:
            said["tool_mode"] = _read_tool_mode(message.tool_mode, f"{path}.tool_mode")
    if message.HasField("direct_views"):
        with problems:
            said["direct_views"] = read_views(message.direct_views, f"{path}.direct_views")
    if message.HasField("nested_views"):
        with problems:
            said["nested_views"] = read_views(message.nested_views, f"{path}.nested_views")
    problems.check()

    def with_defaults(**fields: Any) -> SessionOptions:
        return replace(defaults, **fields)

    return checked(path, with_defaults, **said)


def read_turn_options(message: pb.TurnOptions, path: str) -> TurnOptions:
    """What a turn says differently from its session."""
    return TurnOptions(
        recorder_enabled=message.recorder_enabled if message.HasField("recorder_enabled") else None,
        tool_mode=(
            _read_tool_mode(message.tool_mode, f"{path}.tool_mode")
            if message.HasField("tool_mode")
            else None
        ),
    )


def write_session_options(options: SessionOptions) -> pb.SessionOptions:
    mode = options.tool_mode
    return pb.SessionOptions(
        recorder_enabled=options.recorder_enabled,
        tool_mode=pb.ToolModeOptions(
            model_tool_mode=(
                tool_call_pb2.TOOL_MODE_UNSPECIFIED
                if mode.model_tool_mode is None
                else TOOL_MODE_NUMBERS[mode.model_tool_mode]
            ),
            code_mode_feature=mode.code_mode_feature,
            code_mode_only_feature=mode.code_mode_only_feature,
            code_mode_available=mode.code_mode_available,
            code_mode_fallback_disabled=mode.code_mode_fallback_disabled,
        ),
        post_hook_block=_BLOCK_NUMBERS[options.post_hook_block],
        mark_external_context=options.mark_external_context,
        direct_views=write_views(options.direct_views),
        nested_views=write_views(options.nested_views),
        display_name=options.display_name,
    )


def _read_tool_mode(message: pb.ToolModeOptions, path: str) -> ToolModeOptions:
    return ToolModeOptions(
        model_tool_mode=read_enum(
            _REQUESTED_MODES, message.model_tool_mode, f"{path}.model_tool_mode"
        ),
        code_mode_feature=message.code_mode_feature,
        code_mode_only_feature=message.code_mode_only_feature,
        code_mode_available=(
            message.code_mode_available if message.HasField("code_mode_available") else True
        ),
        code_mode_fallback_disabled=message.code_mode_fallback_disabled,
    )


# --- sessions -------------------------------------------------------------------------


def write_session(session: KnownSession) -> pb.Session:
    """A session as it stands."""
    return pb.Session(
        session_id=session.id,
        state=_STATES[session.state],
        options=write_session_options(session.options),
        effective_tool_mode=TOOL_MODE_NUMBERS[session.options.effective_tool_mode()],
        create_time=write_timestamp(session.created_at),
        open_calls=len(session.open_calls),
        terminal_calls=session.terminal_calls,
        external_context_marked=session.external_context_marked,
        recorder_sizes=write_recorder_sizes(session.recorder),
        recorder_losses=_write_losses(session.recorder.losses),
        hooks_failed_open=session.hooks_failed_open,
        late_results=session.late_results,
        watchers=len(session.events),
    )


def write_recorder_sizes(recorder: KnownRecorder) -> pb.RecorderSizes:
    """How much a recorder holds."""
    sizes = recorder.sizes()
    return pb.RecorderSizes(
        direct_calls=sizes.direct_calls,
        cells=sizes.cells,
        output_cells=sizes.output_cells,
        retained_outputs=sizes.retained_outputs,
        pending_nested_calls=sizes.pending_nested_calls,
        held_bytes=recorder.held_bytes,
    )


def write_disposition(disposition: RecordDisposition) -> pb.RecordDisposition.ValueType:
    return _DISPOSITIONS[disposition]


def _write_losses(losses: RecorderLosses) -> pb.RecorderLosses:
    return pb.RecorderLosses(
        direct_marked=losses.direct_marked,
        direct_dropped=losses.direct_dropped,
        nested_marked=losses.nested_marked,
        nested_dropped=losses.nested_dropped,
        cell_refused=losses.cell_refused,
        mapping_refused=losses.mapping_refused,
        mapping_overwritten=losses.mapping_overwritten,
        arguments_truncated=losses.arguments_truncated,
        budget_truncated=losses.budget_truncated,
        budget_omitted=losses.budget_omitted,
        retained_pruned=losses.retained_pruned,
        ended_turn_dropped=losses.ended_turn_dropped,
        memory_marked=losses.memory_marked,
    )


# --- events ---------------------------------------------------------------------------


def write_snapshot(
    session: KnownSession,
    calls: Sequence[KnownCall],
    event_number: int,
    unix_seconds: float,
    max_bytes: int,
) -> pb.WatchSessionResponse:
    """The state that a watch begins with; `event_number` is that of the last event before it.

    Of the calls the newest, as far as `max_bytes` go.
    """
    shown: list[outcome_pb.ToolCallStatus] = []
    for call in reversed(calls):
        status = write_call_status(session.id, call)
        max_bytes -= status.ByteSize()
        if max_bytes < 0:
            break
        shown.append(status)
    return pb.WatchSessionResponse(
        event_number=event_number,
        event_time=write_timestamp(unix_seconds),
        snapshot=pb.SessionSnapshot(session=write_session(session), calls=reversed(shown)),
    )


def write_event(event: NumberedEvent) -> pb.WatchSessionResponse:
    """What happened."""
    return pb.WatchSessionResponse(
        event_number=event.number,
        event_time=write_timestamp(event.time),
        **_EVENTS[type(event.event)](event.event),
    )


def _write_started(event: CallStarted) -> dict[str, Any]:
    started = pb.CallStarted(
        call=write_call_reference(event.call),
        tool_name=write_tool_name(event.tool_name),
        cell_id=event.cell_id,
    )
    return {"call_started": started}


def _write_finished(event: CallFinished) -> dict[str, Any]:
    finished = pb.CallFinished(
        call=write_call_reference(event.call),
        outcome=write_call_outcome(event.outcome),
        durations=write_call_durations(event.durations),
    )
    return {"call_finished": finished}


def _write_recorded(event: CallRecorded) -> dict[str, Any]:
    recorded = pb.CallRecorded(
        call=write_call_reference(event.call), disposition=write_disposition(event.disposition)
    )
    return {"call_recorded": recorded}


def _write_attached(event: CallsAttached) -> dict[str, Any]:
    attached = pb.CallsAttached(
        sampling_request_id=event.sampling_request_id, outputs=event.outputs
    )
    return {"calls_attached": attached}


def _write_marked(event: ExternalContextMarked) -> dict[str, Any]:
    marked = pb.ExternalContextMarked(call=write_call_reference(event.call))
    return {"external_context_marked": marked}


def _write_state(event: StateChanged) -> dict[str, Any]:
    return {"state_changed": pb.SessionStateChanged(state=_STATES[event.state])}


def _write_lost(event: EventsLost) -> dict[str, Any]:
    return {"events_lost": pb.EventsLost(count=event.lost)}


_EVENTS: Final[Mapping[type, Callable[[Any], dict[str, Any]]]] = {
    CallStarted: _write_started,
    CallFinished: _write_finished,
    CallRecorded: _write_recorded,
    CallsAttached: _write_attached,
    ExternalContextMarked: _write_marked,
    StateChanged: _write_state,
    EventsLost: _write_lost,
}
