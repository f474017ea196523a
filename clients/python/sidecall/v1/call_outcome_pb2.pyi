import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AbortReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABORT_REASON_UNSPECIFIED: _ClassVar[AbortReason]
    ABORT_REASON_CANCELLED: _ClassVar[AbortReason]
    ABORT_REASON_TIMED_OUT: _ClassVar[AbortReason]
    ABORT_REASON_SESSION_LOST: _ClassVar[AbortReason]
    ABORT_REASON_DRAINED: _ClassVar[AbortReason]
    ABORT_REASON_TURN_FATAL: _ClassVar[AbortReason]

class AbortProgress(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABORT_PROGRESS_UNSPECIFIED: _ClassVar[AbortProgress]
    ABORT_PROGRESS_NOT_STARTED: _ClassVar[AbortProgress]
    ABORT_PROGRESS_HANDLER_INTERRUPTED: _ClassVar[AbortProgress]
    ABORT_PROGRESS_HANDLER_FINISHED: _ClassVar[AbortProgress]
    ABORT_PROGRESS_UNKNOWN: _ClassVar[AbortProgress]

class TeardownState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TEARDOWN_STATE_UNSPECIFIED: _ClassVar[TeardownState]
    TEARDOWN_STATE_DONE: _ClassVar[TeardownState]
    TEARDOWN_STATE_TIMED_OUT: _ClassVar[TeardownState]
    TEARDOWN_STATE_UNKNOWN: _ClassVar[TeardownState]

class LifecycleFinish(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIFECYCLE_FINISH_UNSPECIFIED: _ClassVar[LifecycleFinish]
    LIFECYCLE_FINISH_COMPLETED: _ClassVar[LifecycleFinish]
    LIFECYCLE_FINISH_BLOCKED: _ClassVar[LifecycleFinish]
    LIFECYCLE_FINISH_FAILED: _ClassVar[LifecycleFinish]
    LIFECYCLE_FINISH_ABORTED: _ClassVar[LifecycleFinish]

class CallPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_PHASE_UNSPECIFIED: _ClassVar[CallPhase]
    CALL_PHASE_WAITING_FOR_READINESS: _ClassVar[CallPhase]
    CALL_PHASE_QUEUED: _ClassVar[CallPhase]
    CALL_PHASE_PRE_HOOK: _ClassVar[CallPhase]
    CALL_PHASE_HANDLER: _ClassVar[CallPhase]
    CALL_PHASE_POST_HOOK: _ClassVar[CallPhase]
    CALL_PHASE_TEARDOWN: _ClassVar[CallPhase]
    CALL_PHASE_TERMINAL: _ClassVar[CallPhase]
ABORT_REASON_UNSPECIFIED: AbortReason
ABORT_REASON_CANCELLED: AbortReason
ABORT_REASON_TIMED_OUT: AbortReason
ABORT_REASON_SESSION_LOST: AbortReason
ABORT_REASON_DRAINED: AbortReason
ABORT_REASON_TURN_FATAL: AbortReason
ABORT_PROGRESS_UNSPECIFIED: AbortProgress
ABORT_PROGRESS_NOT_STARTED: AbortProgress
ABORT_PROGRESS_HANDLER_INTERRUPTED: AbortProgress
ABORT_PROGRESS_HANDLER_FINISHED: AbortProgress
ABORT_PROGRESS_UNKNOWN: AbortProgress
TEARDOWN_STATE_UNSPECIFIED: TeardownState
TEARDOWN_STATE_DONE: TeardownState
TEARDOWN_STATE_TIMED_OUT: TeardownState
TEARDOWN_STATE_UNKNOWN: TeardownState
LIFECYCLE_FINISH_UNSPECIFIED: LifecycleFinish
LIFECYCLE_FINISH_COMPLETED: LifecycleFinish
LIFECYCLE_FINISH_BLOCKED: LifecycleFinish
LIFECYCLE_FINISH_FAILED: LifecycleFinish
LIFECYCLE_FINISH_ABORTED: LifecycleFinish
CALL_PHASE_UNSPECIFIED: CallPhase
CALL_PHASE_WAITING_FOR_READINESS: CallPhase
CALL_PHASE_QUEUED: CallPhase
CALL_PHASE_PRE_HOOK: CallPhase
CALL_PHASE_HANDLER: CallPhase
CALL_PHASE_POST_HOOK: CallPhase
CALL_PHASE_TEARDOWN: CallPhase
CALL_PHASE_TERMINAL: CallPhase

class CallReference(_message.Message):
    __slots__ = ("turn_id", "call_id")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    call_id: str
    def __init__(self, turn_id: _Optional[str] = ..., call_id: _Optional[str] = ...) -> None: ...

class CompletedOutcome(_message.Message):
    __slots__ = ("success",)
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    success: bool
    def __init__(self, success: _Optional[bool] = ...) -> None: ...

class ModelFailureOutcome(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class FatalOutcome(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: str
    def __init__(self, message: _Optional[str] = ...) -> None: ...

class AbortedOutcome(_message.Message):
    __slots__ = ("reason", "progress", "teardown", "message")
    REASON_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    reason: AbortReason
    progress: AbortProgress
    teardown: TeardownState
    message: str
    def __init__(self, reason: _Optional[_Union[AbortReason, str]] = ..., progress: _Optional[_Union[AbortProgress, str]] = ..., teardown: _Optional[_Union[TeardownState, str]] = ..., message: _Optional[str] = ...) -> None: ...

class CallOutcome(_message.Message):
    __slots__ = ("completed", "model_failure", "fatal", "aborted", "lifecycle", "handler_executed")
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    MODEL_FAILURE_FIELD_NUMBER: _ClassVar[int]
    FATAL_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    HANDLER_EXECUTED_FIELD_NUMBER: _ClassVar[int]
    completed: CompletedOutcome
    model_failure: ModelFailureOutcome
    fatal: FatalOutcome
    aborted: AbortedOutcome
    lifecycle: LifecycleFinish
    handler_executed: bool
    def __init__(self, completed: _Optional[_Union[CompletedOutcome, _Mapping]] = ..., model_failure: _Optional[_Union[ModelFailureOutcome, _Mapping]] = ..., fatal: _Optional[_Union[FatalOutcome, _Mapping]] = ..., aborted: _Optional[_Union[AbortedOutcome, _Mapping]] = ..., lifecycle: _Optional[_Union[LifecycleFinish, str]] = ..., handler_executed: _Optional[bool] = ...) -> None: ...

class CallDurations(_message.Message):
    __slots__ = ("dispatch", "handler", "total")
    DISPATCH_FIELD_NUMBER: _ClassVar[int]
    HANDLER_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    dispatch: _duration_pb2.Duration
    handler: _duration_pb2.Duration
    total: _duration_pb2.Duration
    def __init__(self, dispatch: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., handler: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., total: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ToolCallStatus(_message.Message):
    __slots__ = ("session_id", "call", "tool_name", "payload_kind", "cell_id", "dispatch_order", "phase", "outcome", "submit_time", "durations")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_KIND_FIELD_NUMBER: _ClassVar[int]
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    DISPATCH_ORDER_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SUBMIT_TIME_FIELD_NUMBER: _ClassVar[int]
    DURATIONS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call: CallReference
    tool_name: _tool_call_pb2.ToolName
    payload_kind: _tool_call_pb2.PayloadKind
    cell_id: str
    dispatch_order: int
    phase: CallPhase
    outcome: CallOutcome
    submit_time: _timestamp_pb2.Timestamp
    durations: CallDurations
    def __init__(self, session_id: _Optional[str] = ..., call: _Optional[_Union[CallReference, _Mapping]] = ..., tool_name: _Optional[_Union[_tool_call_pb2.ToolName, _Mapping]] = ..., payload_kind: _Optional[_Union[_tool_call_pb2.PayloadKind, str]] = ..., cell_id: _Optional[str] = ..., dispatch_order: _Optional[int] = ..., phase: _Optional[_Union[CallPhase, str]] = ..., outcome: _Optional[_Union[CallOutcome, _Mapping]] = ..., submit_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., durations: _Optional[_Union[CallDurations, _Mapping]] = ...) -> None: ...
