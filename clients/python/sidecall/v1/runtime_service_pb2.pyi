import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from sidecall.v1 import call_outcome_pb2 as _call_outcome_pb2
from sidecall.v1 import runtime_stream_pb2 as _runtime_stream_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from sidecall.v1 import tool_output_pb2 as _tool_output_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetRuntimeInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RuntimeLimits(_message.Message):
    __slots__ = ("max_sessions", "max_calls_in_flight", "max_calls_in_flight_total", "max_bytes_in_flight", "max_replay_bytes", "max_message_bytes", "max_chunk_bytes", "max_frame_bytes", "max_declarations", "max_retained_calls", "max_retained_bytes", "max_watchers", "max_watcher_events", "max_id_bytes", "max_tool_name_bytes", "max_record_bytes_total", "resume_grace", "session_idle_timeout", "heartbeat_interval", "heartbeat_timeout", "max_teardown_timeout", "default_hook_timeout")
    MAX_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_IN_FLIGHT_TOTAL_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLAY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CHUNK_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DECLARATIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_RETAINED_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_RETAINED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_WATCHERS_FIELD_NUMBER: _ClassVar[int]
    MAX_WATCHER_EVENTS_FIELD_NUMBER: _ClassVar[int]
    MAX_ID_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOL_NAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORD_BYTES_TOTAL_FIELD_NUMBER: _ClassVar[int]
    RESUME_GRACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    MAX_TEARDOWN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_HOOK_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    max_sessions: int
    max_calls_in_flight: int
    max_calls_in_flight_total: int
    max_bytes_in_flight: int
    max_replay_bytes: int
    max_message_bytes: int
    max_chunk_bytes: int
    max_frame_bytes: int
    max_declarations: int
    max_retained_calls: int
    max_retained_bytes: int
    max_watchers: int
    max_watcher_events: int
    max_id_bytes: int
    max_tool_name_bytes: int
    max_record_bytes_total: int
    resume_grace: _duration_pb2.Duration
    session_idle_timeout: _duration_pb2.Duration
    heartbeat_interval: _duration_pb2.Duration
    heartbeat_timeout: _duration_pb2.Duration
    max_teardown_timeout: _duration_pb2.Duration
    default_hook_timeout: _duration_pb2.Duration
    def __init__(self, max_sessions: _Optional[int] = ..., max_calls_in_flight: _Optional[int] = ..., max_calls_in_flight_total: _Optional[int] = ..., max_bytes_in_flight: _Optional[int] = ..., max_replay_bytes: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_chunk_bytes: _Optional[int] = ..., max_frame_bytes: _Optional[int] = ..., max_declarations: _Optional[int] = ..., max_retained_calls: _Optional[int] = ..., max_retained_bytes: _Optional[int] = ..., max_watchers: _Optional[int] = ..., max_watcher_events: _Optional[int] = ..., max_id_bytes: _Optional[int] = ..., max_tool_name_bytes: _Optional[int] = ..., max_record_bytes_total: _Optional[int] = ..., resume_grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., session_idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_teardown_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., default_hook_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GetRuntimeInfoResponse(_message.Message):
    __slots__ = ("server_version", "server_instance_id", "protocol_versions", "features", "limits", "draining", "recorder_enabled_by_default")
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    SERVER_INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    RECORDER_ENABLED_BY_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    server_version: str
    server_instance_id: str
    protocol_versions: _containers.RepeatedScalarFieldContainer[int]
    features: _containers.RepeatedScalarFieldContainer[str]
    limits: RuntimeLimits
    draining: bool
    recorder_enabled_by_default: bool
    def __init__(self, server_version: _Optional[str] = ..., server_instance_id: _Optional[str] = ..., protocol_versions: _Optional[_Iterable[int]] = ..., features: _Optional[_Iterable[str]] = ..., limits: _Optional[_Union[RuntimeLimits, _Mapping]] = ..., draining: _Optional[bool] = ..., recorder_enabled_by_default: _Optional[bool] = ...) -> None: ...

class GetToolCallRequest(_message.Message):
    __slots__ = ("session_id", "call", "views")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call: _call_outcome_pb2.CallReference
    views: _tool_output_pb2.ViewSelection
    def __init__(self, session_id: _Optional[str] = ..., call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ...) -> None: ...

class GetToolCallResponse(_message.Message):
    __slots__ = ("call", "projections")
    CALL_FIELD_NUMBER: _ClassVar[int]
    PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.ToolCallStatus
    projections: _tool_output_pb2.ToolOutputProjections
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.ToolCallStatus, _Mapping]] = ..., projections: _Optional[_Union[_tool_output_pb2.ToolOutputProjections, _Mapping]] = ...) -> None: ...

class ListToolCallsRequest(_message.Message):
    __slots__ = ("session_id", "turn_id", "page_size", "page_token", "include_projections")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    turn_id: str
    page_size: int
    page_token: str
    include_projections: bool
    def __init__(self, session_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_projections: _Optional[bool] = ...) -> None: ...

class ListToolCallsResponse(_message.Message):
    __slots__ = ("calls", "next_page_token")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[GetToolCallResponse]
    next_page_token: str
    def __init__(self, calls: _Optional[_Iterable[_Union[GetToolCallResponse, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelToolCallRequest(_message.Message):
    __slots__ = ("session_id", "target")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    target: _runtime_stream_pb2.CancelTarget
    def __init__(self, session_id: _Optional[str] = ..., target: _Optional[_Union[_runtime_stream_pb2.CancelTarget, _Mapping]] = ...) -> None: ...

class CancelToolCallResponse(_message.Message):
    __slots__ = ("calls",)
    CALLS_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[_runtime_stream_pb2.CancelledCall]
    def __init__(self, calls: _Optional[_Iterable[_Union[_runtime_stream_pb2.CancelledCall, _Mapping]]] = ...) -> None: ...

class OutlineEntry(_message.Message):
    __slots__ = ("call", "output")
    CALL_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    call: OutlineCall
    output: OutlineOutput
    def __init__(self, call: _Optional[_Union[OutlineCall, _Mapping]] = ..., output: _Optional[_Union[OutlineOutput, _Mapping]] = ...) -> None: ...

class OutlineCall(_message.Message):
    __slots__ = ("kind", "call_id", "server_executed")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_EXECUTED_FIELD_NUMBER: _ClassVar[int]
    kind: _tool_call_pb2.PayloadKind
    call_id: str
    server_executed: bool
    def __init__(self, kind: _Optional[_Union[_tool_call_pb2.PayloadKind, str]] = ..., call_id: _Optional[str] = ..., server_executed: _Optional[bool] = ...) -> None: ...

class OutlineOutput(_message.Message):
    __slots__ = ("kind", "call_id", "server_executed")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_EXECUTED_FIELD_NUMBER: _ClassVar[int]
    kind: _tool_call_pb2.PayloadKind
    call_id: str
    server_executed: bool
    def __init__(self, kind: _Optional[_Union[_tool_call_pb2.PayloadKind, str]] = ..., call_id: _Optional[str] = ..., server_executed: _Optional[bool] = ...) -> None: ...

class NormalizePromptRequest(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[OutlineEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[OutlineEntry, _Mapping]]] = ...) -> None: ...

class MissingOutput(_message.Message):
    __slots__ = ("entry_index", "response_item", "response_item_json")
    ENTRY_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ITEM_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    entry_index: int
    response_item: _tool_output_pb2.ResponseItem
    response_item_json: bytes
    def __init__(self, entry_index: _Optional[int] = ..., response_item: _Optional[_Union[_tool_output_pb2.ResponseItem, _Mapping]] = ..., response_item_json: _Optional[bytes] = ...) -> None: ...

class NormalizePromptResponse(_message.Message):
    __slots__ = ("missing_outputs", "orphan_entry_indexes")
    MISSING_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    ORPHAN_ENTRY_INDEXES_FIELD_NUMBER: _ClassVar[int]
    missing_outputs: _containers.RepeatedCompositeFieldContainer[MissingOutput]
    orphan_entry_indexes: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, missing_outputs: _Optional[_Iterable[_Union[MissingOutput, _Mapping]]] = ..., orphan_entry_indexes: _Optional[_Iterable[int]] = ...) -> None: ...
