import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ImageDetail(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMAGE_DETAIL_UNSPECIFIED: _ClassVar[ImageDetail]
    IMAGE_DETAIL_AUTO: _ClassVar[ImageDetail]
    IMAGE_DETAIL_LOW: _ClassVar[ImageDetail]
    IMAGE_DETAIL_HIGH: _ClassVar[ImageDetail]
    IMAGE_DETAIL_ORIGINAL: _ClassVar[ImageDetail]

class View(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEW_UNSPECIFIED: _ClassVar[View]
    VIEW_LOG: _ClassVar[View]
    VIEW_RESPONSE_ITEM: _ClassVar[View]
    VIEW_RESPONSE_ITEM_JSON: _ClassVar[View]
    VIEW_HOOK: _ClassVar[View]
    VIEW_CODE_MODE: _ClassVar[View]
IMAGE_DETAIL_UNSPECIFIED: ImageDetail
IMAGE_DETAIL_AUTO: ImageDetail
IMAGE_DETAIL_LOW: ImageDetail
IMAGE_DETAIL_HIGH: ImageDetail
IMAGE_DETAIL_ORIGINAL: ImageDetail
VIEW_UNSPECIFIED: View
VIEW_LOG: View
VIEW_RESPONSE_ITEM: View
VIEW_RESPONSE_ITEM_JSON: View
VIEW_HOOK: View
VIEW_CODE_MODE: View

class InputText(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    def __init__(self, text: _Optional[bytes] = ...) -> None: ...

class InputImage(_message.Message):
    __slots__ = ("image_url", "detail")
    IMAGE_URL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    image_url: bytes
    detail: ImageDetail
    def __init__(self, image_url: _Optional[bytes] = ..., detail: _Optional[_Union[ImageDetail, str]] = ...) -> None: ...

class InputAudio(_message.Message):
    __slots__ = ("audio_url",)
    AUDIO_URL_FIELD_NUMBER: _ClassVar[int]
    audio_url: bytes
    def __init__(self, audio_url: _Optional[bytes] = ...) -> None: ...

class EncryptedContent(_message.Message):
    __slots__ = ("encrypted_content",)
    ENCRYPTED_CONTENT_FIELD_NUMBER: _ClassVar[int]
    encrypted_content: bytes
    def __init__(self, encrypted_content: _Optional[bytes] = ...) -> None: ...

class ContentItem(_message.Message):
    __slots__ = ("input_text", "input_image", "input_audio", "encrypted_content")
    INPUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_IMAGE_FIELD_NUMBER: _ClassVar[int]
    INPUT_AUDIO_FIELD_NUMBER: _ClassVar[int]
    ENCRYPTED_CONTENT_FIELD_NUMBER: _ClassVar[int]
    input_text: InputText
    input_image: InputImage
    input_audio: InputAudio
    encrypted_content: EncryptedContent
    def __init__(self, input_text: _Optional[_Union[InputText, _Mapping]] = ..., input_image: _Optional[_Union[InputImage, _Mapping]] = ..., input_audio: _Optional[_Union[InputAudio, _Mapping]] = ..., encrypted_content: _Optional[_Union[EncryptedContent, _Mapping]] = ...) -> None: ...

class TruncationPolicy(_message.Message):
    __slots__ = ("bytes", "tokens")
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    tokens: int
    def __init__(self, bytes: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class FunctionOutput(_message.Message):
    __slots__ = ("content", "success", "post_tool_use_response_json")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    POST_TOOL_USE_RESPONSE_JSON_FIELD_NUMBER: _ClassVar[int]
    content: _containers.RepeatedCompositeFieldContainer[ContentItem]
    success: bool
    post_tool_use_response_json: bytes
    def __init__(self, content: _Optional[_Iterable[_Union[ContentItem, _Mapping]]] = ..., success: _Optional[bool] = ..., post_tool_use_response_json: _Optional[bytes] = ...) -> None: ...

class JsonOutput(_message.Message):
    __slots__ = ("value_json", "success")
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    value_json: bytes
    success: bool
    def __init__(self, value_json: _Optional[bytes] = ..., success: _Optional[bool] = ...) -> None: ...

class McpOutput(_message.Message):
    __slots__ = ("result_json", "tool_input_json", "wall_time", "original_image_detail_supported", "truncation_policy")
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    TOOL_INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_IMAGE_DETAIL_SUPPORTED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_POLICY_FIELD_NUMBER: _ClassVar[int]
    result_json: bytes
    tool_input_json: bytes
    wall_time: _duration_pb2.Duration
    original_image_detail_supported: bool
    truncation_policy: TruncationPolicy
    def __init__(self, result_json: _Optional[bytes] = ..., tool_input_json: _Optional[bytes] = ..., wall_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., original_image_detail_supported: _Optional[bool] = ..., truncation_policy: _Optional[_Union[TruncationPolicy, _Mapping]] = ...) -> None: ...

class McpRawOutput(_message.Message):
    __slots__ = ("result_json",)
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    result_json: bytes
    def __init__(self, result_json: _Optional[bytes] = ...) -> None: ...

class ToolSearchOutput(_message.Message):
    __slots__ = ("tools_json",)
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    tools_json: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, tools_json: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ApplyPatchOutput(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    def __init__(self, text: _Optional[bytes] = ...) -> None: ...

class AbortedOutput(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    def __init__(self, message: _Optional[bytes] = ...) -> None: ...

class ExecCommandOutput(_message.Message):
    __slots__ = ("output", "event_call_id", "chunk_id", "wall_time", "truncation_policy", "max_output_tokens", "process_id", "exit_code", "original_token_count", "output_omitted_bytes", "hook_command")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    EVENT_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_ID_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    TRUNCATION_POLICY_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PROCESS_ID_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_OMITTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    HOOK_COMMAND_FIELD_NUMBER: _ClassVar[int]
    output: bytes
    event_call_id: str
    chunk_id: str
    wall_time: _duration_pb2.Duration
    truncation_policy: TruncationPolicy
    max_output_tokens: int
    process_id: int
    exit_code: int
    original_token_count: int
    output_omitted_bytes: int
    hook_command: bytes
    def __init__(self, output: _Optional[bytes] = ..., event_call_id: _Optional[str] = ..., chunk_id: _Optional[str] = ..., wall_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., truncation_policy: _Optional[_Union[TruncationPolicy, _Mapping]] = ..., max_output_tokens: _Optional[int] = ..., process_id: _Optional[int] = ..., exit_code: _Optional[int] = ..., original_token_count: _Optional[int] = ..., output_omitted_bytes: _Optional[int] = ..., hook_command: _Optional[bytes] = ...) -> None: ...

class ToolOutput(_message.Message):
    __slots__ = ("function", "json", "mcp", "mcp_raw", "tool_search", "apply_patch", "aborted", "exec_command", "contains_external_context")
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    MCP_FIELD_NUMBER: _ClassVar[int]
    MCP_RAW_FIELD_NUMBER: _ClassVar[int]
    TOOL_SEARCH_FIELD_NUMBER: _ClassVar[int]
    APPLY_PATCH_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    EXEC_COMMAND_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_EXTERNAL_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    function: FunctionOutput
    json: JsonOutput
    mcp: McpOutput
    mcp_raw: McpRawOutput
    tool_search: ToolSearchOutput
    apply_patch: ApplyPatchOutput
    aborted: AbortedOutput
    exec_command: ExecCommandOutput
    contains_external_context: bool
    def __init__(self, function: _Optional[_Union[FunctionOutput, _Mapping]] = ..., json: _Optional[_Union[JsonOutput, _Mapping]] = ..., mcp: _Optional[_Union[McpOutput, _Mapping]] = ..., mcp_raw: _Optional[_Union[McpRawOutput, _Mapping]] = ..., tool_search: _Optional[_Union[ToolSearchOutput, _Mapping]] = ..., apply_patch: _Optional[_Union[ApplyPatchOutput, _Mapping]] = ..., aborted: _Optional[_Union[AbortedOutput, _Mapping]] = ..., exec_command: _Optional[_Union[ExecCommandOutput, _Mapping]] = ..., contains_external_context: _Optional[bool] = ...) -> None: ...

class ViewSelection(_message.Message):
    __slots__ = ("views",)
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    views: _containers.RepeatedScalarFieldContainer[View]
    def __init__(self, views: _Optional[_Iterable[_Union[View, str]]] = ...) -> None: ...

class LogView(_message.Message):
    __slots__ = ("preview",)
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    preview: str
    def __init__(self, preview: _Optional[str] = ...) -> None: ...

class ContentItems(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[ContentItem]
    def __init__(self, items: _Optional[_Iterable[_Union[ContentItem, _Mapping]]] = ...) -> None: ...

class OutputBody(_message.Message):
    __slots__ = ("text", "items")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    items: ContentItems
    def __init__(self, text: _Optional[bytes] = ..., items: _Optional[_Union[ContentItems, _Mapping]] = ...) -> None: ...

class FunctionCallOutputItem(_message.Message):
    __slots__ = ("call_id", "output", "success")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    output: OutputBody
    success: bool
    def __init__(self, call_id: _Optional[str] = ..., output: _Optional[_Union[OutputBody, _Mapping]] = ..., success: _Optional[bool] = ...) -> None: ...

class CustomToolCallOutputItem(_message.Message):
    __slots__ = ("call_id", "output", "success")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    output: OutputBody
    success: bool
    def __init__(self, call_id: _Optional[str] = ..., output: _Optional[_Union[OutputBody, _Mapping]] = ..., success: _Optional[bool] = ...) -> None: ...

class ToolSearchOutputItem(_message.Message):
    __slots__ = ("call_id", "status", "execution", "tools_json")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    status: str
    execution: str
    tools_json: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, call_id: _Optional[str] = ..., status: _Optional[str] = ..., execution: _Optional[str] = ..., tools_json: _Optional[_Iterable[bytes]] = ...) -> None: ...

class McpToolCallOutputItem(_message.Message):
    __slots__ = ("call_id", "output_json")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    output_json: bytes
    def __init__(self, call_id: _Optional[str] = ..., output_json: _Optional[bytes] = ...) -> None: ...

class ResponseItem(_message.Message):
    __slots__ = ("function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output")
    FUNCTION_CALL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_TOOL_CALL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    TOOL_SEARCH_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    MCP_TOOL_CALL_OUTPUT_FIELD_NUMBER: _ClassVar[int]
    function_call_output: FunctionCallOutputItem
    custom_tool_call_output: CustomToolCallOutputItem
    tool_search_output: ToolSearchOutputItem
    mcp_tool_call_output: McpToolCallOutputItem
    def __init__(self, function_call_output: _Optional[_Union[FunctionCallOutputItem, _Mapping]] = ..., custom_tool_call_output: _Optional[_Union[CustomToolCallOutputItem, _Mapping]] = ..., tool_search_output: _Optional[_Union[ToolSearchOutputItem, _Mapping]] = ..., mcp_tool_call_output: _Optional[_Union[McpToolCallOutputItem, _Mapping]] = ...) -> None: ...

class HookPayload(_message.Message):
    __slots__ = ("tool_name", "matcher_aliases", "tool_use_id", "tool_input_json", "tool_response_json")
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    MATCHER_ALIASES_FIELD_NUMBER: _ClassVar[int]
    TOOL_USE_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESPONSE_JSON_FIELD_NUMBER: _ClassVar[int]
    tool_name: str
    matcher_aliases: _containers.RepeatedScalarFieldContainer[str]
    tool_use_id: str
    tool_input_json: bytes
    tool_response_json: bytes
    def __init__(self, tool_name: _Optional[str] = ..., matcher_aliases: _Optional[_Iterable[str]] = ..., tool_use_id: _Optional[str] = ..., tool_input_json: _Optional[bytes] = ..., tool_response_json: _Optional[bytes] = ...) -> None: ...

class ToolOutputProjections(_message.Message):
    __slots__ = ("log", "response_item", "response_item_json", "hook", "code_mode_json", "success_for_logging", "response_success", "contains_external_context")
    LOG_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ITEM_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    CODE_MODE_JSON_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FOR_LOGGING_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_EXTERNAL_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    log: LogView
    response_item: ResponseItem
    response_item_json: bytes
    hook: HookPayload
    code_mode_json: bytes
    success_for_logging: bool
    response_success: bool
    contains_external_context: bool
    def __init__(self, log: _Optional[_Union[LogView, _Mapping]] = ..., response_item: _Optional[_Union[ResponseItem, _Mapping]] = ..., response_item_json: _Optional[bytes] = ..., hook: _Optional[_Union[HookPayload, _Mapping]] = ..., code_mode_json: _Optional[bytes] = ..., success_for_logging: _Optional[bool] = ..., response_success: _Optional[bool] = ..., contains_external_context: _Optional[bool] = ...) -> None: ...
