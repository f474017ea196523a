import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidecall.v1 import call_outcome_pb2 as _call_outcome_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from sidecall.v1 import tool_output_pb2 as _tool_output_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PostHookBlock(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POST_HOOK_BLOCK_UNSPECIFIED: _ClassVar[PostHookBlock]
    POST_HOOK_BLOCK_REPLACE_OUTPUT: _ClassVar[PostHookBlock]
    POST_HOOK_BLOCK_REJECT_RESULT: _ClassVar[PostHookBlock]

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_ATTACHED: _ClassVar[SessionState]
    SESSION_STATE_DETACHED: _ClassVar[SessionState]
    SESSION_STATE_CLOSED: _ClassVar[SessionState]

class RecordDisposition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_DISPOSITION_UNSPECIFIED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_RECORDED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_MARKED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_DROPPED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_SKIPPED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_DISABLED: _ClassVar[RecordDisposition]
    RECORD_DISPOSITION_DUPLICATE: _ClassVar[RecordDisposition]
POST_HOOK_BLOCK_UNSPECIFIED: PostHookBlock
POST_HOOK_BLOCK_REPLACE_OUTPUT: PostHookBlock
POST_HOOK_BLOCK_REJECT_RESULT: PostHookBlock
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_ATTACHED: SessionState
SESSION_STATE_DETACHED: SessionState
SESSION_STATE_CLOSED: SessionState
RECORD_DISPOSITION_UNSPECIFIED: RecordDisposition
RECORD_DISPOSITION_RECORDED: RecordDisposition
RECORD_DISPOSITION_MARKED: RecordDisposition
RECORD_DISPOSITION_DROPPED: RecordDisposition
RECORD_DISPOSITION_SKIPPED: RecordDisposition
RECORD_DISPOSITION_DISABLED: RecordDisposition
RECORD_DISPOSITION_DUPLICATE: RecordDisposition

class ToolModeOptions(_message.Message):
    __slots__ = ("model_tool_mode", "code_mode_feature", "code_mode_only_feature", "code_mode_available", "code_mode_fallback_disabled")
    MODEL_TOOL_MODE_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_FEATURE_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_ONLY_FEATURE_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_FALLBACK_DISABLED_FIELD_NUMBER: _ClassVar[int]
    model_tool_mode: _tool_call_pb2.ToolMode
    code_mode_feature: bool
    code_mode_only_feature: bool
    code_mode_available: bool
    code_mode_fallback_disabled: bool
    def __init__(self, model_tool_mode: _Optional[_Union[_tool_call_pb2.ToolMode, str]] = ..., code_mode_feature: _Optional[bool] = ..., code_mode_only_feature: _Optional[bool] = ..., code_mode_available: _Optional[bool] = ..., code_mode_fallback_disabled: _Optional[bool] = ...) -> None: ...

class SessionOptions(_message.Message):
    __slots__ = ("recorder_enabled", "tool_mode", "post_hook_block", "mark_external_context", "direct_views", "nested_views", "display_name")
    RECORDER_ENABLED_FIELD_NUMBER: _ClassVar[int]
    TOOL_MODE_FIELD_NUMBER: _ClassVar[int]
    POST_HOOK_BLOCK_FIELD_NUMBER: _ClassVar[int]
    MARK_EXTERNAL_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DIRECT_VIEWS_FIELD_NUMBER: _ClassVar[int]
    NESTED_VIEWS_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    recorder_enabled: bool
    tool_mode: ToolModeOptions
    post_hook_block: PostHookBlock
    mark_external_context: bool
    direct_views: _tool_output_pb2.ViewSelection
    nested_views: _tool_output_pb2.ViewSelection
    display_name: str
    def __init__(self, recorder_enabled: _Optional[bool] = ..., tool_mode: _Optional[_Union[ToolModeOptions, _Mapping]] = ..., post_hook_block: _Optional[_Union[PostHookBlock, str]] = ..., mark_external_context: _Optional[bool] = ..., direct_views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ..., nested_views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ..., display_name: _Optional[str] = ...) -> None: ...

class TurnOptions(_message.Message):
    __slots__ = ("recorder_enabled", "tool_mode")
    RECORDER_ENABLED_FIELD_NUMBER: _ClassVar[int]
    TOOL_MODE_FIELD_NUMBER: _ClassVar[int]
    recorder_enabled: bool
    tool_mode: ToolModeOptions
    def __init__(self, recorder_enabled: _Optional[bool] = ..., tool_mode: _Optional[_Union[ToolModeOptions, _Mapping]] = ...) -> None: ...

class RecorderSizes(_message.Message):
    __slots__ = ("direct_calls", "cells", "output_cells", "retained_outputs", "pending_nested_calls", "held_bytes")
    DIRECT_CALLS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CELLS_FIELD_NUMBER: _ClassVar[int]
    RETAINED_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    PENDING_NESTED_CALLS_FIELD_NUMBER: _ClassVar[int]
    HELD_BYTES_FIELD_NUMBER: _ClassVar[int]
    direct_calls: int
    cells: int
    output_cells: int
    retained_outputs: int
    pending_nested_calls: int
    held_bytes: int
    def __init__(self, direct_calls: _Optional[int] = ..., cells: _Optional[int] = ..., output_cells: _Optional[int] = ..., retained_outputs: _Optional[int] = ..., pending_nested_calls: _Optional[int] = ..., held_bytes: _Optional[int] = ...) -> None: ...

class RecorderLosses(_message.Message):
    __slots__ = ("direct_marked", "direct_dropped", "nested_marked", "nested_dropped", "cell_refused", "mapping_refused", "mapping_overwritten", "arguments_truncated", "budget_truncated", "budget_omitted", "retained_pruned", "ended_turn_dropped", "memory_marked")
    DIRECT_MARKED_FIELD_NUMBER: _ClassVar[int]
    DIRECT_DROPPED_FIELD_NUMBER: _ClassVar[int]
    NESTED_MARKED_FIELD_NUMBER: _ClassVar[int]
    NESTED_DROPPED_FIELD_NUMBER: _ClassVar[int]
    CELL_REFUSED_FIELD_NUMBER: _ClassVar[int]
    MAPPING_REFUSED_FIELD_NUMBER: _ClassVar[int]
    MAPPING_OVERWRITTEN_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    BUDGET_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    BUDGET_OMITTED_FIELD_NUMBER: _ClassVar[int]
    RETAINED_PRUNED_FIELD_NUMBER: _ClassVar[int]
    ENDED_TURN_DROPPED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MARKED_FIELD_NUMBER: _ClassVar[int]
    direct_marked: int
    direct_dropped: int
    nested_marked: int
    nested_dropped: int
    cell_refused: int
    mapping_refused: int
    mapping_overwritten: int
    arguments_truncated: int
    budget_truncated: int
    budget_omitted: int
    retained_pruned: int
    ended_turn_dropped: int
    memory_marked: int
    def __init__(self, direct_marked: _Optional[int] = ..., direct_dropped: _Optional[int] = ..., nested_marked: _Optional[int] = ..., nested_dropped: _Optional[int] = ..., cell_refused: _Optional[int] = ..., mapping_refused: _Optional[int] = ..., mapping_overwritten: _Optional[int] = ..., arguments_truncated: _Optional[int] = ..., budget_truncated: _Optional[int] = ..., budget_omitted: _Optional[int] = ..., retained_pruned: _Optional[int] = ..., ended_turn_dropped: _Optional[int] = ..., memory_marked: _Optional[int] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "state", "options", "effective_tool_mode", "create_time", "open_calls", "terminal_calls", "external_context_marked", "recorder_sizes", "recorder_losses", "hooks_failed_open", "late_results", "watchers")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_TOOL_MODE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    OPEN_CALLS_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_CALLS_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_CONTEXT_MARKED_FIELD_NUMBER: _ClassVar[int]
    RECORDER_SIZES_FIELD_NUMBER: _ClassVar[int]
    RECORDER_LOSSES_FIELD_NUMBER: _ClassVar[int]
    HOOKS_FAILED_OPEN_FIELD_NUMBER: _ClassVar[int]
    LATE_RESULTS_FIELD_NUMBER: _ClassVar[int]
    WATCHERS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    state: SessionState
    options: SessionOptions
    effective_tool_mode: _tool_call_pb2.ToolMode
    create_time: _timestamp_pb2.Timestamp
    open_calls: int
    terminal_calls: int
    external_context_marked: bool
    recorder_sizes: RecorderSizes
    recorder_losses: RecorderLosses
    hooks_failed_open: int
    late_results: int
    watchers: int
    def __init__(self, session_id: _Optional[str] = ..., state: _Optional[_Union[SessionState, str]] = ..., options: _Optional[_Union[SessionOptions, _Mapping]] = ..., effective_tool_mode: _Optional[_Union[_tool_call_pb2.ToolMode, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., open_calls: _Optional[int] = ..., terminal_calls: _Optional[int] = ..., external_context_marked: _Optional[bool] = ..., recorder_sizes: _Optional[_Union[RecorderSizes, _Mapping]] = ..., recorder_losses: _Optional[_Union[RecorderLosses, _Mapping]] = ..., hooks_failed_open: _Optional[int] = ..., late_results: _Optional[int] = ..., watchers: _Optional[int] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("session_id", "options")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    options: SessionOptions
    def __init__(self, session_id: _Optional[str] = ..., options: _Optional[_Union[SessionOptions, _Mapping]] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session", "resume_token")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session: Session
    resume_token: str
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class DeleteSessionResponse(_message.Message):
    __slots__ = ("aborted_calls",)
    ABORTED_CALLS_FIELD_NUMBER: _ClassVar[int]
    aborted_calls: int
    def __init__(self, aborted_calls: _Optional[int] = ...) -> None: ...

class EndTurnRequest(_message.Message):
    __slots__ = ("session_id", "turn_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    turn_id: str
    def __init__(self, session_id: _Optional[str] = ..., turn_id: _Optional[str] = ...) -> None: ...

class EndTurnResponse(_message.Message):
    __slots__ = ("open_calls",)
    OPEN_CALLS_FIELD_NUMBER: _ClassVar[int]
    open_calls: int
    def __init__(self, open_calls: _Optional[int] = ...) -> None: ...

class WatchSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class SessionSnapshot(_message.Message):
    __slots__ = ("session", "calls")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    session: Session
    calls: _containers.RepeatedCompositeFieldContainer[_call_outcome_pb2.ToolCallStatus]
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., calls: _Optional[_Iterable[_Union[_call_outcome_pb2.ToolCallStatus, _Mapping]]] = ...) -> None: ...

class CallStarted(_message.Message):
    __slots__ = ("call", "tool_name", "cell_id")
    CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    tool_name: _tool_call_pb2.ToolName
    cell_id: str
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., tool_name: _Optional[_Union[_tool_call_pb2.ToolName, _Mapping]] = ..., cell_id: _Optional[str] = ...) -> None: ...

class CallFinished(_message.Message):
    __slots__ = ("call", "outcome", "durations")
    CALL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    DURATIONS_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    outcome: _call_outcome_pb2.CallOutcome
    durations: _call_outcome_pb2.CallDurations
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., outcome: _Optional[_Union[_call_outcome_pb2.CallOutcome, _Mapping]] = ..., durations: _Optional[_Union[_call_outcome_pb2.CallDurations, _Mapping]] = ...) -> None: ...

class CallRecorded(_message.Message):
    __slots__ = ("call", "disposition")
    CALL_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    disposition: RecordDisposition
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., disposition: _Optional[_Union[RecordDisposition, str]] = ...) -> None: ...

class CallsAttached(_message.Message):
    __slots__ = ("sampling_request_id", "outputs")
    SAMPLING_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    sampling_request_id: str
    outputs: int
    def __init__(self, sampling_request_id: _Optional[str] = ..., outputs: _Optional[int] = ...) -> None: ...

class ExternalContextMarked(_message.Message):
    __slots__ = ("call",)
    CALL_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ...) -> None: ...

class SessionStateChanged(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: SessionState
    def __init__(self, state: _Optional[_Union[SessionState, str]] = ...) -> None: ...

class EventsLost(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class WatchSessionResponse(_message.Message):
    __slots__ = ("event_number", "event_time", "snapshot", "call_started", "call_finished", "call_recorded", "calls_attached", "external_context_marked", "state_changed", "events_lost")
    EVENT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    CALL_STARTED_FIELD_NUMBER: _ClassVar[int]
    CALL_FINISHED_FIELD_NUMBER: _ClassVar[int]
    CALL_RECORDED_FIELD_NUMBER: _ClassVar[int]
    CALLS_ATTACHED_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_CONTEXT_MARKED_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGED_FIELD_NUMBER: _ClassVar[int]
    EVENTS_LOST_FIELD_NUMBER: _ClassVar[int]
    event_number: int
    event_time: _timestamp_pb2.Timestamp
    snapshot: SessionSnapshot
    call_started: CallStarted
    call_finished: CallFinished
    call_recorded: CallRecorded
    calls_attached: CallsAttached
    external_context_marked: ExternalContextMarked
    state_changed: SessionStateChanged
    events_lost: EventsLost
    def __init__(self, event_number: _Optional[int] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., snapshot: _Optional[_Union[SessionSnapshot, _Mapping]] = ..., call_started: _Optional[_Union[CallStarted, _Mapping]] = ..., call_finished: _Optional[_Union[CallFinished, _Mapping]] = ..., call_recorded: _Optional[_Union[CallRecorded, _Mapping]] = ..., calls_attached: _Optional[_Union[CallsAttached, _Mapping]] = ..., external_context_marked: _Optional[_Union[ExternalContextMarked, _Mapping]] = ..., state_changed: _Optional[_Union[SessionStateChanged, _Mapping]] = ..., events_lost: _Optional[_Union[EventsLost, _Mapping]] = ...) -> None: ...
