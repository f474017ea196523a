from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Truncation(_message.Message):
    __slots__ = ("original_bytes", "max_bytes", "omitted_calls", "original_name_bytes")
    ORIGINAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    OMITTED_CALLS_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_NAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    original_bytes: int
    max_bytes: int
    omitted_calls: int
    original_name_bytes: int
    def __init__(self, original_bytes: _Optional[int] = ..., max_bytes: _Optional[int] = ..., omitted_calls: _Optional[int] = ..., original_name_bytes: _Optional[int] = ...) -> None: ...

class ExecutedToolCall(_message.Message):
    __slots__ = ("name", "raw_json", "truncated")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAW_JSON_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    name: str
    raw_json: bytes
    truncated: Truncation
    def __init__(self, name: _Optional[str] = ..., raw_json: _Optional[bytes] = ..., truncated: _Optional[_Union[Truncation, _Mapping]] = ...) -> None: ...
