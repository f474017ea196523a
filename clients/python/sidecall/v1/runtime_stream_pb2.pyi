import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from sidecall.v1 import call_outcome_pb2 as _call_outcome_pb2
from sidecall.v1 import errors_pb2 as _errors_pb2
from sidecall.v1 import session_service_pb2 as _session_service_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from sidecall.v1 import tool_output_pb2 as _tool_output_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HookKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOOK_KIND_UNSPECIFIED: _ClassVar[HookKind]
    HOOK_KIND_DEFAULT: _ClassVar[HookKind]
    HOOK_KIND_SHELL: _ClassVar[HookKind]
    HOOK_KIND_APPLY_PATCH: _ClassVar[HookKind]
    HOOK_KIND_MCP: _ClassVar[HookKind]
    HOOK_KIND_NONE: _ClassVar[HookKind]

class CancelMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCEL_MODE_UNSPECIFIED: _ClassVar[CancelMode]
    CANCEL_MODE_ABORT: _ClassVar[CancelMode]
    CANCEL_MODE_WAIT_FOR_TEARDOWN: _ClassVar[CancelMode]

class HookPoint(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOOK_POINT_UNSPECIFIED: _ClassVar[HookPoint]
    HOOK_POINT_PRE_TOOL_USE: _ClassVar[HookPoint]
    HOOK_POINT_POST_TOOL_USE: _ClassVar[HookPoint]

class ResumeOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESUME_OUTCOME_UNSPECIFIED: _ClassVar[ResumeOutcome]
    RESUME_OUTCOME_NEW: _ClassVar[ResumeOutcome]
    RESUME_OUTCOME_RESUMED: _ClassVar[ResumeOutcome]
    RESUME_OUTCOME_GAP: _ClassVar[ResumeOutcome]

class CancelDisposition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCEL_DISPOSITION_UNSPECIFIED: _ClassVar[CancelDisposition]
    CANCEL_DISPOSITION_ACCEPTED: _ClassVar[CancelDisposition]
    CANCEL_DISPOSITION_ALREADY_TERMINAL: _ClassVar[CancelDisposition]
    CANCEL_DISPOSITION_UNKNOWN: _ClassVar[CancelDisposition]
HOOK_KIND_UNSPECIFIED: HookKind
HOOK_KIND_DEFAULT: HookKind
HOOK_KIND_SHELL: HookKind
HOOK_KIND_APPLY_PATCH: HookKind
HOOK_KIND_MCP: HookKind
HOOK_KIND_NONE: HookKind
CANCEL_MODE_UNSPECIFIED: CancelMode
CANCEL_MODE_ABORT: CancelMode
CANCEL_MODE_WAIT_FOR_TEARDOWN: CancelMode
HOOK_POINT_UNSPECIFIED: HookPoint
HOOK_POINT_PRE_TOOL_USE: HookPoint
HOOK_POINT_POST_TOOL_USE: HookPoint
RESUME_OUTCOME_UNSPECIFIED: ResumeOutcome
RESUME_OUTCOME_NEW: ResumeOutcome
RESUME_OUTCOME_RESUMED: ResumeOutcome
RESUME_OUTCOME_GAP: ResumeOutcome
CANCEL_DISPOSITION_UNSPECIFIED: CancelDisposition
CANCEL_DISPOSITION_ACCEPTED: CancelDisposition
CANCEL_DISPOSITION_ALREADY_TERMINAL: CancelDisposition
CANCEL_DISPOSITION_UNKNOWN: CancelDisposition

class ConnectRequest(_message.Message):
    __slots__ = ("sequence", "acknowledged", "frames")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    acknowledged: int
    frames: _containers.RepeatedCompositeFieldContainer[ClientFrame]
    def __init__(self, sequence: _Optional[int] = ..., acknowledged: _Optional[int] = ..., frames: _Optional[_Iterable[_Union[ClientFrame, _Mapping]]] = ...) -> None: ...

class ConnectResponse(_message.Message):
    __slots__ = ("sequence", "acknowledged", "frames")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    acknowledged: int
    frames: _containers.RepeatedCompositeFieldContainer[ServerFrame]
    def __init__(self, sequence: _Optional[int] = ..., acknowledged: _Optional[int] = ..., frames: _Optional[_Iterable[_Union[ServerFrame, _Mapping]]] = ...) -> None: ...

class ClientFrame(_message.Message):
    __slots__ = ("hello", "update_tools", "dispatch_call", "handler_result", "hook_verdict", "cancel_calls", "teardown_complete", "register_cell", "end_turn", "output_chunk", "heartbeat", "detach")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    DISPATCH_CALL_FIELD_NUMBER: _ClassVar[int]
    HANDLER_RESULT_FIELD_NUMBER: _ClassVar[int]
    HOOK_VERDICT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    REGISTER_CELL_FIELD_NUMBER: _ClassVar[int]
    END_TURN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CHUNK_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    DETACH_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    update_tools: UpdateTools
    dispatch_call: DispatchCall
    handler_result: HandlerResult
    hook_verdict: HookVerdict
    cancel_calls: CancelCalls
    teardown_complete: TeardownComplete
    register_cell: RegisterCell
    end_turn: EndTurn
    output_chunk: OutputChunk
    heartbeat: Heartbeat
    detach: Detach
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., update_tools: _Optional[_Union[UpdateTools, _Mapping]] = ..., dispatch_call: _Optional[_Union[DispatchCall, _Mapping]] = ..., handler_result: _Optional[_Union[HandlerResult, _Mapping]] = ..., hook_verdict: _Optional[_Union[HookVerdict, _Mapping]] = ..., cancel_calls: _Optional[_Union[CancelCalls, _Mapping]] = ..., teardown_complete: _Optional[_Union[TeardownComplete, _Mapping]] = ..., register_cell: _Optional[_Union[RegisterCell, _Mapping]] = ..., end_turn: _Optional[_Union[EndTurn, _Mapping]] = ..., output_chunk: _Optional[_Union[OutputChunk, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., detach: _Optional[_Union[Detach, _Mapping]] = ...) -> None: ...

class ServerFrame(_message.Message):
    __slots__ = ("welcome", "call_accepted", "invoke_hook", "invoke_handler", "abort_handler", "call_completed", "cancel_result", "output_chunk", "drain", "heartbeat", "frame_error")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    CALL_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    INVOKE_HOOK_FIELD_NUMBER: _ClassVar[int]
    INVOKE_HANDLER_FIELD_NUMBER: _ClassVar[int]
    ABORT_HANDLER_FIELD_NUMBER: _ClassVar[int]
    CALL_COMPLETED_FIELD_NUMBER: _ClassVar[int]
    CANCEL_RESULT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CHUNK_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    FRAME_ERROR_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    call_accepted: CallAccepted
    invoke_hook: InvokeHook
    invoke_handler: InvokeHandler
    abort_handler: AbortHandler
    call_completed: CallCompleted
    cancel_result: CancelResult
    output_chunk: OutputChunk
    drain: Drain
    heartbeat: Heartbeat
    frame_error: FrameError
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., call_accepted: _Optional[_Union[CallAccepted, _Mapping]] = ..., invoke_hook: _Optional[_Union[InvokeHook, _Mapping]] = ..., invoke_handler: _Optional[_Union[InvokeHandler, _Mapping]] = ..., abort_handler: _Optional[_Union[AbortHandler, _Mapping]] = ..., call_completed: _Optional[_Union[CallCompleted, _Mapping]] = ..., cancel_result: _Optional[_Union[CancelResult, _Mapping]] = ..., output_chunk: _Optional[_Union[OutputChunk, _Mapping]] = ..., drain: _Optional[_Union[Drain, _Mapping]] = ..., heartbeat: _Optional[_Union[Heartbeat, _Mapping]] = ..., frame_error: _Optional[_Union[FrameError, _Mapping]] = ...) -> None: ...

class ToolDeclaration(_message.Message):
    __slots__ = ("tool_name", "hook_kind", "payload_kinds", "supports_parallel_calls", "hidden", "not_ready", "cancel_mode", "teardown_timeout", "call_timeout")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    HOOK_KIND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_KINDS_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_PARALLEL_CALLS_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    NOT_READY_FIELD_NUMBER: _ClassVar[int]
    CANCEL_MODE_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    CALL_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    tool_name: _tool_call_pb2.ToolName
    hook_kind: HookKind
    payload_kinds: _containers.RepeatedScalarFieldContainer[_tool_call_pb2.PayloadKind]
    supports_parallel_calls: bool
    hidden: bool
    not_ready: bool
    cancel_mode: CancelMode
    teardown_timeout: _duration_pb2.Duration
    call_timeout: _duration_pb2.Duration
    def __init__(self, tool_name: _Optional[_Union[_tool_call_pb2.ToolName, _Mapping]] = ..., hook_kind: _Optional[_Union[HookKind, str]] = ..., payload_kinds: _Optional[_Iterable[_Union[_tool_call_pb2.PayloadKind, str]]] = ..., supports_parallel_calls: _Optional[bool] = ..., hidden: _Optional[bool] = ..., not_ready: _Optional[bool] = ..., cancel_mode: _Optional[_Union[CancelMode, str]] = ..., teardown_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., call_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class HookDeclaration(_message.Message):
    __slots__ = ("point", "matchers", "timeout")
    POINT_FIELD_NUMBER: _ClassVar[int]
    MATCHERS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    point: HookPoint
    matchers: _containers.RepeatedScalarFieldContainer[str]
    timeout: _duration_pb2.Duration
    def __init__(self, point: _Optional[_Union[HookPoint, str]] = ..., matchers: _Optional[_Iterable[str]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol_versions", "session_id", "resume_token", "last_sequence_received", "options", "tools", "hooks", "client_name")
    PROTOCOL_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_NAME_FIELD_NUMBER: _ClassVar[int]
    protocol_versions: _containers.RepeatedScalarFieldContainer[int]
    session_id: str
    resume_token: str
    last_sequence_received: int
    options: _session_service_pb2.SessionOptions
    tools: _containers.RepeatedCompositeFieldContainer[ToolDeclaration]
    hooks: _containers.RepeatedCompositeFieldContainer[HookDeclaration]
    client_name: str
    def __init__(self, protocol_versions: _Optional[_Iterable[int]] = ..., session_id: _Optional[str] = ..., resume_token: _Optional[str] = ..., last_sequence_received: _Optional[int] = ..., options: _Optional[_Union[_session_service_pb2.SessionOptions, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[ToolDeclaration, _Mapping]]] = ..., hooks: _Optional[_Iterable[_Union[HookDeclaration, _Mapping]]] = ..., client_name: _Optional[str] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("protocol_version", "session_id", "resume_token", "resume_outcome", "last_sequence_received", "next_sequence", "server_instance_id", "max_calls_in_flight", "max_bytes_in_flight", "max_message_bytes", "max_chunk_bytes", "max_frame_bytes", "heartbeat_interval", "heartbeat_timeout", "resume_grace", "effective_tool_mode")
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESUME_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SERVER_INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CHUNK_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RESUME_GRACE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_TOOL_MODE_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    session_id: str
    resume_token: str
    resume_outcome: ResumeOutcome
    last_sequence_received: int
    next_sequence: int
    server_instance_id: str
    max_calls_in_flight: int
    max_bytes_in_flight: int
    max_message_bytes: int
    max_chunk_bytes: int
    max_frame_bytes: int
    heartbeat_interval: _duration_pb2.Duration
    heartbeat_timeout: _duration_pb2.Duration
    resume_grace: _duration_pb2.Duration
    effective_tool_mode: _tool_call_pb2.ToolMode
    def __init__(self, protocol_version: _Optional[int] = ..., session_id: _Optional[str] = ..., resume_token: _Optional[str] = ..., resume_outcome: _Optional[_Union[ResumeOutcome, str]] = ..., last_sequence_received: _Optional[int] = ..., next_sequence: _Optional[int] = ..., server_instance_id: _Optional[str] = ..., max_calls_in_flight: _Optional[int] = ..., max_bytes_in_flight: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_chunk_bytes: _Optional[int] = ..., max_frame_bytes: _Optional[int] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., resume_grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., effective_tool_mode: _Optional[_Union[_tool_call_pb2.ToolMode, str]] = ...) -> None: ...

class UpdateTools(_message.Message):
    __slots__ = ("upsert", "remove", "hooks")
    UPSERT_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    upsert: _containers.RepeatedCompositeFieldContainer[ToolDeclaration]
    remove: _containers.RepeatedCompositeFieldContainer[_tool_call_pb2.ToolName]
    hooks: HookDeclarations
    def __init__(self, upsert: _Optional[_Iterable[_Union[ToolDeclaration, _Mapping]]] = ..., remove: _Optional[_Iterable[_Union[_tool_call_pb2.ToolName, _Mapping]]] = ..., hooks: _Optional[_Union[HookDeclarations, _Mapping]] = ...) -> None: ...

class HookDeclarations(_message.Message):
    __slots__ = ("hooks",)
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    hooks: _containers.RepeatedCompositeFieldContainer[HookDeclaration]
    def __init__(self, hooks: _Optional[_Iterable[_Union[HookDeclaration, _Mapping]]] = ...) -> None: ...

class DispatchCall(_message.Message):
    __slots__ = ("call", "turn_options", "views", "timeout", "traceparent")
    CALL_FIELD_NUMBER: _ClassVar[int]
    TURN_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    call: _tool_call_pb2.ToolCall
    turn_options: _session_service_pb2.TurnOptions
    views: _tool_output_pb2.ViewSelection
    timeout: _duration_pb2.Duration
    traceparent: str
    def __init__(self, call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., turn_options: _Optional[_Union[_session_service_pb2.TurnOptions, _Mapping]] = ..., views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class RespondToModel(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class Fatal(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class UnhandledError(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class HandlerResult(_message.Message):
    __slots__ = ("invocation_token", "output", "respond_to_model", "fatal", "unhandled_error")
    INVOCATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    RESPOND_TO_MODEL_FIELD_NUMBER: _ClassVar[int]
    FATAL_FIELD_NUMBER: _ClassVar[int]
    UNHANDLED_ERROR_FIELD_NUMBER: _ClassVar[int]
    invocation_token: bytes
    output: _tool_output_pb2.ToolOutput
    respond_to_model: RespondToModel
    fatal: Fatal
    unhandled_error: UnhandledError
    def __init__(self, invocation_token: _Optional[bytes] = ..., output: _Optional[_Union[_tool_output_pb2.ToolOutput, _Mapping]] = ..., respond_to_model: _Optional[_Union[RespondToModel, _Mapping]] = ..., fatal: _Optional[_Union[Fatal, _Mapping]] = ..., unhandled_error: _Optional[_Union[UnhandledError, _Mapping]] = ...) -> None: ...

class Proceed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Rewrite(_message.Message):
    __slots__ = ("input_json",)
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    input_json: bytes
    def __init__(self, input_json: _Optional[bytes] = ...) -> None: ...

class Block(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: bytes
    def __init__(self, reason: _Optional[bytes] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class HookFailed(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class HookVerdict(_message.Message):
    __slots__ = ("hook_token", "proceed", "rewrite", "block", "feedback", "failed", "additional_contexts")
    HOOK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROCEED_FIELD_NUMBER: _ClassVar[int]
    REWRITE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    hook_token: bytes
    proceed: Proceed
    rewrite: Rewrite
    block: Block
    feedback: Feedback
    failed: HookFailed
    additional_contexts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, hook_token: _Optional[bytes] = ..., proceed: _Optional[_Union[Proceed, _Mapping]] = ..., rewrite: _Optional[_Union[Rewrite, _Mapping]] = ..., block: _Optional[_Union[Block, _Mapping]] = ..., feedback: _Optional[_Union[Feedback, _Mapping]] = ..., failed: _Optional[_Union[HookFailed, _Mapping]] = ..., additional_contexts: _Optional[_Iterable[bytes]] = ...) -> None: ...

class CancelTarget(_message.Message):
    __slots__ = ("calls", "turn_id", "all")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    calls: CallReferences
    turn_id: str
    all: AllCalls
    def __init__(self, calls: _Optional[_Union[CallReferences, _Mapping]] = ..., turn_id: _Optional[str] = ..., all: _Optional[_Union[AllCalls, _Mapping]] = ...) -> None: ...

class CallReferences(_message.Message):
    __slots__ = ("calls",)
    CALLS_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[_call_outcome_pb2.CallReference]
    def __init__(self, calls: _Optional[_Iterable[_Union[_call_outcome_pb2.CallReference, _Mapping]]] = ...) -> None: ...

class AllCalls(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CancelCalls(_message.Message):
    __slots__ = ("cancel_id", "target")
    CANCEL_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    cancel_id: int
    target: CancelTarget
    def __init__(self, cancel_id: _Optional[int] = ..., target: _Optional[_Union[CancelTarget, _Mapping]] = ...) -> None: ...

class CancelledCall(_message.Message):
    __slots__ = ("call", "disposition")
    CALL_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    disposition: CancelDisposition
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., disposition: _Optional[_Union[CancelDisposition, str]] = ...) -> None: ...

class CancelResult(_message.Message):
    __slots__ = ("cancel_id", "calls")
    CANCEL_ID_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    cancel_id: int
    calls: _containers.RepeatedCompositeFieldContainer[CancelledCall]
    def __init__(self, cancel_id: _Optional[int] = ..., calls: _Optional[_Iterable[_Union[CancelledCall, _Mapping]]] = ...) -> None: ...

class TeardownComplete(_message.Message):
    __slots__ = ("invocation_token",)
    INVOCATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    invocation_token: bytes
    def __init__(self, invocation_token: _Optional[bytes] = ...) -> None: ...

class RegisterCell(_message.Message):
    __slots__ = ("cell_id", "output_call")
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CALL_FIELD_NUMBER: _ClassVar[int]
    cell_id: str
    output_call: _call_outcome_pb2.CallReference
    def __init__(self, cell_id: _Optional[str] = ..., output_call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ...) -> None: ...

class EndTurn(_message.Message):
    __slots__ = ("turn_id",)
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    def __init__(self, turn_id: _Optional[str] = ...) -> None: ...

class OutputChunk(_message.Message):
    __slots__ = ("transfer_id", "size_bytes", "data")
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    transfer_id: int
    size_bytes: int
    data: bytes
    def __init__(self, transfer_id: _Optional[int] = ..., size_bytes: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Detach(_message.Message):
    __slots__ = ("close_session",)
    CLOSE_SESSION_FIELD_NUMBER: _ClassVar[int]
    close_session: bool
    def __init__(self, close_session: _Optional[bool] = ...) -> None: ...

class CallAccepted(_message.Message):
    __slots__ = ("call", "dispatch_order", "phase", "duplicate")
    CALL_FIELD_NUMBER: _ClassVar[int]
    DISPATCH_ORDER_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    dispatch_order: int
    phase: _call_outcome_pb2.CallPhase
    duplicate: bool
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., dispatch_order: _Optional[int] = ..., phase: _Optional[_Union[_call_outcome_pb2.CallPhase, str]] = ..., duplicate: _Optional[bool] = ...) -> None: ...

class InvokeHook(_message.Message):
    __slots__ = ("hook_token", "call", "point", "payload", "timeout")
    HOOK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    hook_token: bytes
    call: _call_outcome_pb2.CallReference
    point: HookPoint
    payload: _tool_output_pb2.HookPayload
    timeout: _duration_pb2.Duration
    def __init__(self, hook_token: _Optional[bytes] = ..., call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., point: _Optional[_Union[HookPoint, str]] = ..., payload: _Optional[_Union[_tool_output_pb2.HookPayload, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class InvokeHandler(_message.Message):
    __slots__ = ("invocation_token", "call", "rewritten", "dispatch_order")
    INVOCATION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    REWRITTEN_FIELD_NUMBER: _ClassVar[int]
    DISPATCH_ORDER_FIELD_NUMBER: _ClassVar[int]
    invocation_token: bytes
    call: _tool_call_pb2.ToolCall
    rewritten: bool
    dispatch_order: int
    def __init__(self, invocation_token: _Optional[bytes] = ..., call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., rewritten: _Optional[bool] = ..., dispatch_order: _Optional[int] = ...) -> None: ...

class AbortHandler(_message.Message):
    __slots__ = ("token", "call", "reason", "wait_for_teardown", "teardown_timeout")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_TEARDOWN_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    token: bytes
    call: _call_outcome_pb2.CallReference
    reason: _call_outcome_pb2.AbortReason
    wait_for_teardown: bool
    teardown_timeout: _duration_pb2.Duration
    def __init__(self, token: _Optional[bytes] = ..., call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., reason: _Optional[_Union[_call_outcome_pb2.AbortReason, str]] = ..., wait_for_teardown: _Optional[bool] = ..., teardown_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class CallCompleted(_message.Message):
    __slots__ = ("call", "dispatch_order", "outcome", "projections", "additional_contexts", "durations")
    CALL_FIELD_NUMBER: _ClassVar[int]
    DISPATCH_ORDER_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    DURATIONS_FIELD_NUMBER: _ClassVar[int]
    call: _call_outcome_pb2.CallReference
    dispatch_order: int
    outcome: _call_outcome_pb2.CallOutcome
    projections: _tool_output_pb2.ToolOutputProjections
    additional_contexts: _containers.RepeatedScalarFieldContainer[str]
    durations: _call_outcome_pb2.CallDurations
    def __init__(self, call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ..., dispatch_order: _Optional[int] = ..., outcome: _Optional[_Union[_call_outcome_pb2.CallOutcome, _Mapping]] = ..., projections: _Optional[_Union[_tool_output_pb2.ToolOutputProjections, _Mapping]] = ..., additional_contexts: _Optional[_Iterable[str]] = ..., durations: _Optional[_Union[_call_outcome_pb2.CallDurations, _Mapping]] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = ("time_left",)
    TIME_LEFT_FIELD_NUMBER: _ClassVar[int]
    time_left: _duration_pb2.Duration
    def __init__(self, time_left: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class FieldViolation(_message.Message):
    __slots__ = ("field", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class FrameError(_message.Message):
    __slots__ = ("sequence", "frame_index", "reason", "message", "field_violations", "call")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    FRAME_INDEX_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    frame_index: int
    reason: _errors_pb2.ErrorReason
    message: str
    field_violations: _containers.RepeatedCompositeFieldContainer[FieldViolation]
    call: _call_outcome_pb2.CallReference
    def __init__(self, sequence: _Optional[int] = ..., frame_index: _Optional[int] = ..., reason: _Optional[_Union[_errors_pb2.ErrorReason, str]] = ..., message: _Optional[str] = ..., field_violations: _Optional[_Iterable[_Union[FieldViolation, _Mapping]]] = ..., call: _Optional[_Union[_call_outcome_pb2.CallReference, _Mapping]] = ...) -> None: ...
