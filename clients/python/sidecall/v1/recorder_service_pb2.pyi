from sidecall.v1 import executed_tool_call_pb2 as _executed_tool_call_pb2
from sidecall.v1 import session_service_pb2 as _session_service_pb2
from sidecall.v1 import tool_call_pb2 as _tool_call_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExecutedToolCallFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTED_TOOL_CALL_FORMAT_UNSPECIFIED: _ClassVar[ExecutedToolCallFormat]
    EXECUTED_TOOL_CALL_FORMAT_TYPED: _ClassVar[ExecutedToolCallFormat]
    EXECUTED_TOOL_CALL_FORMAT_JSON: _ClassVar[ExecutedToolCallFormat]
EXECUTED_TOOL_CALL_FORMAT_UNSPECIFIED: ExecutedToolCallFormat
EXECUTED_TOOL_CALL_FORMAT_TYPED: ExecutedToolCallFormat
EXECUTED_TOOL_CALL_FORMAT_JSON: ExecutedToolCallFormat

class RecordToolCallRequest(_message.Message):
    __slots__ = ("session_id", "call", "turn_options")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    TURN_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call: _tool_call_pb2.ToolCall
    turn_options: _session_service_pb2.TurnOptions
    def __init__(self, session_id: _Optional[str] = ..., call: _Optional[_Union[_tool_call_pb2.ToolCall, _Mapping]] = ..., turn_options: _Optional[_Union[_session_service_pb2.TurnOptions, _Mapping]] = ...) -> None: ...

class RecordToolCallResponse(_message.Message):
    __slots__ = ("disposition",)
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    disposition: _session_service_pb2.RecordDisposition
    def __init__(self, disposition: _Optional[_Union[_session_service_pb2.RecordDisposition, str]] = ...) -> None: ...

class RegisterCellRequest(_message.Message):
    __slots__ = ("session_id", "cell_id", "output_call_id", "turn_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    cell_id: str
    output_call_id: str
    turn_id: str
    def __init__(self, session_id: _Optional[str] = ..., cell_id: _Optional[str] = ..., output_call_id: _Optional[str] = ..., turn_id: _Optional[str] = ...) -> None: ...

class RegisterCellResponse(_message.Message):
    __slots__ = ("registered",)
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    registered: bool
    def __init__(self, registered: _Optional[bool] = ...) -> None: ...

class PromptOutput(_message.Message):
    __slots__ = ("kind", "call_id", "turn_id", "item_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    kind: _tool_call_pb2.PayloadKind
    call_id: str
    turn_id: str
    item_id: str
    def __init__(self, kind: _Optional[_Union[_tool_call_pb2.PayloadKind, str]] = ..., call_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class AttachExecutedToolCallsRequest(_message.Message):
    __slots__ = ("session_id", "sampling_request_id", "outputs", "turn_id", "formats")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    FORMATS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    sampling_request_id: str
    outputs: _containers.RepeatedCompositeFieldContainer[PromptOutput]
    turn_id: str
    formats: _containers.RepeatedScalarFieldContainer[ExecutedToolCallFormat]
    def __init__(self, session_id: _Optional[str] = ..., sampling_request_id: _Optional[str] = ..., outputs: _Optional[_Iterable[_Union[PromptOutput, _Mapping]]] = ..., turn_id: _Optional[str] = ..., formats: _Optional[_Iterable[_Union[ExecutedToolCallFormat, str]]] = ...) -> None: ...

class AttachedToolCalls(_message.Message):
    __slots__ = ("output_index", "calls", "executed_tool_calls_json", "metadata_bytes")
    OUTPUT_INDEX_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    EXECUTED_TOOL_CALLS_JSON_FIELD_NUMBER: _ClassVar[int]
    METADATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    output_index: int
    calls: _containers.RepeatedCompositeFieldContainer[_executed_tool_call_pb2.ExecutedToolCall]
    executed_tool_calls_json: bytes
    metadata_bytes: int
    def __init__(self, output_index: _Optional[int] = ..., calls: _Optional[_Iterable[_Union[_executed_tool_call_pb2.ExecutedToolCall, _Mapping]]] = ..., executed_tool_calls_json: _Optional[bytes] = ..., metadata_bytes: _Optional[int] = ...) -> None: ...

class AttachExecutedToolCallsResponse(_message.Message):
    __slots__ = ("attached", "outputs", "recorder_sizes")
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    RECORDER_SIZES_FIELD_NUMBER: _ClassVar[int]
    attached: bool
    outputs: _containers.RepeatedCompositeFieldContainer[AttachedToolCalls]
    recorder_sizes: _session_service_pb2.RecorderSizes
    def __init__(self, attached: _Optional[bool] = ..., outputs: _Optional[_Iterable[_Union[AttachedToolCalls, _Mapping]]] = ..., recorder_sizes: _Optional[_Union[_session_service_pb2.RecorderSizes, _Mapping]] = ...) -> None: ...
