import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from sidecall.v1 import call_outcome_pb2 as _call_outcome_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from sidecall.v1 import tool_output_pb2 as _tool_output_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProjectToolOutputRequest(_message.Message):
    __slots__ = ("call", "output", "feedback", "views")
    CALL_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    call: _tool_call_pb2.ToolCall
    output: _tool_output_pb2.ToolOutput
    feedback: bytes
    views: _tool_output_pb2.ViewSelection
    def __init__(self, call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., output: _Optional[_Union[_tool_output_pb2.ToolOutput, _Mapping]] = ..., feedback: _Optional[bytes] = ..., views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ...) -> None: ...

class ProjectToolOutputResponse(_message.Message):
    __slots__ = ("projections",)
    PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    projections: _tool_output_pb2.ToolOutputProjections
    def __init__(self, projections: _Optional[_Union[_tool_output_pb2.ToolOutputProjections, _Mapping]] = ...) -> None: ...

class ProjectToolFailureRequest(_message.Message):
    __slots__ = ("call", "respond_to_model", "fatal", "unhandled", "unknown_tool", "payload_mismatch", "aborted")
    CALL_FIELD_NUMBER: _ClassVar[int]
    RESPOND_TO_MODEL_FIELD_NUMBER: _ClassVar[int]
    FATAL_FIELD_NUMBER: _ClassVar[int]
    UNHANDLED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_TOOL_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_MISMATCH_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    call: _tool_call_pb2.ToolCall
    respond_to_model: bytes
    fatal: bytes
    unhandled: bytes
    unknown_tool: UnknownTool
    payload_mismatch: PayloadMismatch
    aborted: AbortedCall
    def __init__(self, call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., respond_to_model: _Optional[bytes] = ..., fatal: _Optional[bytes] = ..., unhandled: _Optional[bytes] = ..., unknown_tool: _Optional[_Union[UnknownTool, _Mapping]] = ..., payload_mismatch: _Optional[_Union[PayloadMismatch, _Mapping]] = ..., aborted: _Optional[_Union[AbortedCall, _Mapping]] = ...) -> None: ...

class UnknownTool(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PayloadMismatch(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AbortedCall(_message.Message):
    __slots__ = ("reason", "elapsed")
    REASON_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    reason: _call_outcome_pb2.AbortReason
    elapsed: _duration_pb2.Duration
    def __init__(self, reason: _Optional[_Union[_call_outcome_pb2.AbortReason, str]] = ..., elapsed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ProjectToolFailureResponse(_message.Message):
    __slots__ = ("message", "ends_turn", "script_error", "projections")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ENDS_TURN_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_ERROR_FIELD_NUMBER: _ClassVar[int]
    PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    message: str
    ends_turn: bool
    script_error: str
    projections: _tool_output_pb2.ToolOutputProjections
    def __init__(self, message: _Optional[str] = ..., ends_turn: _Optional[bool] = ..., script_error: _Optional[str] = ..., projections: _Optional[_Union[_tool_output_pb2.ToolOutputProjections, _Mapping]] = ...) -> None: ...

class ProjectCellResultRequest(_message.Message):
    __slots__ = ("call", "content", "running_cell_id", "terminated", "completed", "script_error", "wall_time", "max_output_tokens", "views")
    CALL_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    RUNNING_CELL_ID_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_ERROR_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    call: _tool_call_pb2.ToolCall
    content: _containers.RepeatedCompositeFieldContainer[_tool_output_pb2.ContentItem]
    running_cell_id: str
    terminated: CellTerminated
    completed: CellCompleted
    script_error: bytes
    wall_time: _duration_pb2.Duration
    max_output_tokens: int
    views: _tool_output_pb2.ViewSelection
    def __init__(self, call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., content: _Optional[_Iterable[_Union[_tool_output_pb2.ContentItem, _Mapping]]] = ..., running_cell_id: _Optional[str] = ..., terminated: _Optional[_Union[CellTerminated, _Mapping]] = ..., completed: _Optional[_Union[CellCompleted, _Mapping]] = ..., script_error: _Optional[bytes] = ..., wall_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_output_tokens: _Optional[int] = ..., views: _Optional[_Union[_tool_output_pb2.ViewSelection, _Mapping]] = ...) -> None: ...

class CellTerminated(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CellCompleted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ProjectCellResultResponse(_message.Message):
    __slots__ = ("projections",)
    PROJECTIONS_FIELD_NUMBER: _ClassVar[int]
    projections: _tool_output_pb2.ToolOutputProjections
    def __init__(self, projections: _Optional[_Union[_tool_output_pb2.ToolOutputProjections, _Mapping]] = ...) -> None: ...

class TruncateTextRequest(_message.Message):
    __slots__ = ("text", "policy", "formatted")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    FORMATTED_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    policy: _tool_output_pb2.TruncationPolicy
    formatted: bool
    def __init__(self, text: _Optional[bytes] = ..., policy: _Optional[_Union[_tool_output_pb2.TruncationPolicy, _Mapping]] = ..., formatted: _Optional[bool] = ...) -> None: ...

class TruncateTextResponse(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    def __init__(self, text: _Optional[bytes] = ...) -> None: ...
