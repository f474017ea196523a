from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PayloadKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAYLOAD_KIND_UNSPECIFIED: _ClassVar[PayloadKind]
    PAYLOAD_KIND_FUNCTION: _ClassVar[PayloadKind]
    PAYLOAD_KIND_CUSTOM: _ClassVar[PayloadKind]
    PAYLOAD_KIND_TOOL_SEARCH: _ClassVar[PayloadKind]

class ToolMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_MODE_UNSPECIFIED: _ClassVar[ToolMode]
    TOOL_MODE_DIRECT: _ClassVar[ToolMode]
    TOOL_MODE_CODE_MODE: _ClassVar[ToolMode]
    TOOL_MODE_CODE_MODE_ONLY: _ClassVar[ToolMode]
PAYLOAD_KIND_UNSPECIFIED: PayloadKind
PAYLOAD_KIND_FUNCTION: PayloadKind
PAYLOAD_KIND_CUSTOM: PayloadKind
PAYLOAD_KIND_TOOL_SEARCH: PayloadKind
TOOL_MODE_UNSPECIFIED: ToolMode
TOOL_MODE_DIRECT: ToolMode
TOOL_MODE_CODE_MODE: ToolMode
TOOL_MODE_CODE_MODE_ONLY: ToolMode

class ToolName(_message.Message):
    __slots__ = ("name", "namespace")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...

class FunctionPayload(_message.Message):
    __slots__ = ("arguments",)
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    arguments: bytes
    def __init__(self, arguments: _Optional[bytes] = ...) -> None: ...

class CustomPayload(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: bytes
    def __init__(self, input: _Optional[bytes] = ...) -> None: ...

class ToolSearchPayload(_message.Message):
    __slots__ = ("query", "limit")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    query: str
    limit: int
    def __init__(self, query: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ToolPayload(_message.Message):
    __slots__ = ("function", "custom", "tool_search")
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    TOOL_SEARCH_FIELD_NUMBER: _ClassVar[int]
    function: FunctionPayload
    custom: CustomPayload
    tool_search: ToolSearchPayload
    def __init__(self, function: _Optional[_Union[FunctionPayload, _Mapping]] = ..., custom: _Optional[_Union[CustomPayload, _Mapping]] = ..., tool_search: _Optional[_Union[ToolSearchPayload, _Mapping]] = ...) -> None: ...

class DirectSource(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DirectPlaintextMessageSource(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CodeModeSource(_message.Message):
    __slots__ = ("cell_id", "runtime_tool_call_id")
    CELL_ID_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    cell_id: str
    runtime_tool_call_id: str
    def __init__(self, cell_id: _Optional[str] = ..., runtime_tool_call_id: _Optional[str] = ...) -> None: ...

class ToolCallSource(_message.Message):
    __slots__ = ("direct", "direct_plaintext_message", "code_mode")
    DIRECT_FIELD_NUMBER: _ClassVar[int]
    DIRECT_PLAINTEXT_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_FIELD_NUMBER: _ClassVar[int]
    direct: DirectSource
    direct_plaintext_message: DirectPlaintextMessageSource
    code_mode: CodeModeSource
    def __init__(self, direct: _Optional[_Union[DirectSource, _Mapping]] = ..., direct_plaintext_message: _Optional[_Union[DirectPlaintextMessageSource, _Mapping]] = ..., code_mode: _Optional[_Union[CodeModeSource, _Mapping]] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("call_id", "turn_id", "tool_name", "payload", "source")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    turn_id: str
    tool_name: ToolName
    payload: ToolPayload
    source: ToolCallSource
    def __init__(self, call_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., tool_name: _Optional[_Union[ToolName, _Mapping]] = ..., payload: _Optional[_Union[ToolPayload, _Mapping]] = ..., source: _Optional[_Union[ToolCallSource, _Mapping]] = ...) -> None: ...
