"""tool_output.proto: outputs come in, views go out.

Text of an output is decoded lossily, never refused; JSON text is checked by the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from sidecall.v1 import tool_output_pb2 as pb

from sidecall_server.domain.content import (
    ContentItem,
    EncryptedContent,
    ImageDetail,
    InputAudio,
    InputImage,
    InputText,
)
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outputs import (
    AbortedOutput,
    AnyOutput,
    ApplyPatchOutput,
    ExecCommandOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    McpRawOutput,
    ToolOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.response_item import (
    CustomToolCallOutput,
    FunctionCallOutput,
    McpToolCallOutput,
    OutputBody,
    ResponseItem,
    ToolSearchCallOutput,
)
from sidecall_server.domain.session_options import View
from sidecall_server.domain.truncation import (
    BytesPolicy,
    TokensPolicy,
    TruncationPolicy,
    decode_lossy,
)
from sidecall_server.wire.validation import (
    MAX_NAMED_VALUES,
    Problems,
    bounded,
    checked,
    missing,
    read_enum,
    read_nanoseconds,
    read_oneof,
    read_text,
)
from sidecall_server.wire.wire_form import (
    Parts,
    begin,
    end,
    put,
    put_number,
    put_text,
    tag,
    varint,
)

_ViewField: TypeAlias = Literal[
    "log", "response_item", "response_item_json", "hook", "code_mode_json"
]

_DETAILS: Final[Mapping[int, ImageDetail | None]] = {
    pb.IMAGE_DETAIL_UNSPECIFIED: None,
    pb.IMAGE_DETAIL_AUTO: ImageDetail.AUTO,
    pb.IMAGE_DETAIL_LOW: ImageDetail.LOW,
    pb.IMAGE_DETAIL_HIGH: ImageDetail.HIGH,
    pb.IMAGE_DETAIL_ORIGINAL: ImageDetail.ORIGINAL,
}
_DETAIL_NUMBERS: Final[Mapping[ImageDetail | None, pb.ImageDetail.ValueType]] = {
    None: pb.IMAGE_DETAIL_UNSPECIFIED,
    ImageDetail.AUTO: pb.IMAGE_DETAIL_AUTO,
    ImageDetail.LOW: pb.IMAGE_DETAIL_LOW,
    ImageDetail.HIGH: pb.IMAGE_DETAIL_HIGH,
    ImageDetail.ORIGINAL: pb.IMAGE_DETAIL_ORIGINAL,
}
_VIEWS: Final[Mapping[int, View]] = {
    pb.VIEW_LOG: View.LOG,
    pb.VIEW_RESPONSE_ITEM: View.RESPONSE_ITEM,
    pb.VIEW_RESPONSE_ITEM_JSON: View.RESPONSE_ITEM_JSON,
    pb.VIEW_HOOK: View.HOOK,
    pb.VIEW_CODE_MODE: View.CODE_MODE,
}
_VIEW_NUMBERS: Final[Mapping[View, pb.View.ValueType]] = {
    View.LOG: pb.VIEW_LOG,
    View.RESPONSE_ITEM: pb.VIEW_RESPONSE_ITEM,
    View.RESPONSE_ITEM_JSON: pb.VIEW_RESPONSE_ITEM_JSON,
    View.HOOK: pb.VIEW_HOOK,
    View.CODE_MODE: pb.VIEW_CODE_MODE,
}

_VIEW_FIELDS: Final[Mapping[View, _ViewField]] = {
    View.LOG: "log",
    View.RESPONSE_ITEM: "response_item",
    View.RESPONSE_ITEM_JSON: "response_item_json",
    View.HOOK: "hook",
    View.CODE_MODE: "code_mode_json",
}

# --- outputs --------------------------------------------------------------------------


def read_tool_output(message: pb.ToolOutput, path: str) -> ToolOutput:
    """What a handler returned."""
    kind = read_oneof(message, "output", path, _OUTPUTS)
    output = _OUTPUTS[kind](getattr(message, kind), f"{path}.{kind}")
    return ToolOutput(output, message.contains_external_context)


def read_content(items: Sequence[pb.ContentItem], path: str) -> tuple[ContentItem, ...]:
    """Content items, in order."""
    problems = Problems()
    read: list[ContentItem] = []
    for index, item in enumerate(bounded(items, path)):
        kind = item.WhichOneof("item")
        if kind == "input_text":  # by far the most, and never refused
            read.append(InputText(decode_lossy(item.input_text.text)))
            continue
        with problems:
            if kind is None:
                raise missing(f"{path}[{index}]", ("input_text", *_ITEMS))
            read.append(_ITEMS[kind](item, path, index))
    problems.check()
    return tuple(read)


def read_truncation_policy(message: pb.TruncationPolicy, path: str) -> TruncationPolicy:
    """A budget and its unit."""
    if read_oneof(message, "policy", path, ("bytes", "tokens")) == "bytes":
        return BytesPolicy(message.bytes)
    return TokensPolicy(message.tokens)


def _read_image_item(item: pb.ContentItem, path: str, index: int) -> ContentItem:
    image = item.input_image
    detail = read_enum(_DETAILS, image.detail, f"{path}[{index}].input_image.detail")
    return InputImage(decode_lossy(image.image_url), detail)


def _read_audio_item(item: pb.ContentItem, path: str, index: int) -> ContentItem:
    return InputAudio(decode_lossy(item.input_audio.audio_url))


def _read_encrypted_item(item: pb.ContentItem, path: str, index: int) -> ContentItem:
    return EncryptedContent(decode_lossy(item.encrypted_content.encrypted_content))


_ITEMS: Final[Mapping[str, Callable[[pb.ContentItem, str, int], ContentItem]]] = {
    "input_image": _read_image_item,
    "input_audio": _read_audio_item,
    "encrypted_content": _read_encrypted_item,
}


def _read_function(message: pb.FunctionOutput, path: str) -> AnyOutput:
    success = message.success if message.HasField("success") else None
    if not message.HasField("post_tool_use_response_json"):
        return FunctionOutput(read_content(message.content, f"{path}.content"), success)
    problems = Problems()
    with problems:
        content = read_content(message.content, f"{path}.content")
    with problems:
        response_json = read_text(
            message.post_tool_use_response_json, f"{path}.post_tool_use_response_json"
        )
    problems.check()
    return checked(
        path,
        FunctionOutput,
        content=content,
        success=success,
        post_tool_use_response_json=response_json,
    )


def _read_json(message: pb.JsonOutput, path: str) -> AnyOutput:
    return checked(
        path,
        JsonOutput,
        value_json=read_text(message.value_json, f"{path}.value_json"),
        success=message.success if message.HasField("success") else None,
    )


def _read_mcp(message: pb.McpOutput, path: str) -> AnyOutput:
    problems = Problems()
    with problems:
        result_json = read_text(message.result_json, f"{path}.result_json")
    with problems:
        tool_input_json = read_text(message.tool_input_json, f"{path}.tool_input_json")
    with problems:
        wall_time = read_nanoseconds(message, "wall_time", path)
    with problems:
        policy = read_truncation_policy(message.truncation_policy, f"{path}.truncation_policy")
    problems.check()
    return checked(
        path,
        McpOutput,
        result_json=result_json,
        tool_input_json=tool_input_json,
        wall_time_nanoseconds=wall_time,
        original_image_detail_supported=message.original_image_detail_supported,
        truncation_policy=policy,
    )


def _read_mcp_raw(message: pb.McpRawOutput, path: str) -> AnyOutput:
    result_json = read_text(message.result_json, f"{path}.result_json")
    return checked(path, McpRawOutput, result_json=result_json)


def _read_tool_search(message: pb.ToolSearchOutput, path: str) -> AnyOutput:
    problems = Problems()
    tools: list[str] = []
    for index, tool in enumerate(bounded(message.tools_json, f"{path}.tools_json")):
        with problems:
            tools.append(read_text(tool, f"{path}.tools_json[{index}]"))
    problems.check()
    return checked(path, ToolSearchOutput, tools_json=tuple(tools))


def _read_apply_patch(message: pb.ApplyPatchOutput, path: str) -> AnyOutput:
    return ApplyPatchOutput(decode_lossy(message.text))


def _read_aborted(message: pb.AbortedOutput, path: str) -> AnyOutput:
    return AbortedOutput(decode_lossy(message.message))


def _read_exec_command(message: pb.ExecCommandOutput, path: str) -> AnyOutput:
    problems = Problems()
    with problems:
        wall_time = read_nanoseconds(message, "wall_time", path)
    with problems:
        policy = read_truncation_policy(message.truncation_policy, f"{path}.truncation_policy")
    problems.check()
    has = message.HasField
    return checked(
        path,
        ExecCommandOutput,
        output=message.output,
        event_call_id=message.event_call_id,
        chunk_id=message.chunk_id,
        wall_time_nanoseconds=wall_time,
        truncation_policy=policy,
        max_output_tokens=message.max_output_tokens if has("max_output_tokens") else None,
        process_id=message.process_id if has("process_id") else None,
        exit_code=message.exit_code if has("exit_code") else None,
        original_token_count=message.original_token_count if has("original_token_count") else None,
        output_omitted_bytes=message.output_omitted_bytes if has("output_omitted_bytes") else None,
        hook_command=decode_lossy(message.hook_command) if has("hook_command") else None,
    )


_OUTPUTS: Final[Mapping[str, Callable[[Any, str], AnyOutput]]] = {
    "function": _read_function,
    "json": _read_json,
    "mcp": _read_mcp,
    "mcp_raw": _read_mcp_raw,
    "tool_search": _read_tool_search,
    "apply_patch": _read_apply_patch,
    "aborted": _read_aborted,
    "exec_command": _read_exec_command,
}

# --- views ----------------------------------------------------------------------------


def read_views(message: pb.ViewSelection, path: str) -> tuple[View, ...]:
    """The views that are wanted, each once."""
    problems = Problems()
    views: dict[View, None] = {}
    for index, number in enumerate(bounded(message.views, f"{path}.views", MAX_NAMED_VALUES)):
        with problems:
            if number == pb.VIEW_UNSPECIFIED:
                raise InvalidArgument.of(f"{path}.views[{index}]", "is not a view")
            views[read_enum(_VIEWS, number, f"{path}.views[{index}]")] = None
    problems.check()
    return tuple(views)


def write_views(views: Iterable[View]) -> pb.ViewSelection:
    return pb.ViewSelection(views=[_VIEW_NUMBERS[view] for view in views])


def write_projections(
    projection: Projection, views: Iterable[View], hook_kind: HookKind = HookKind.DEFAULT
) -> pb.ToolOutputProjections:
    """The views that are wanted, as a message of their own."""
    parts: Parts = []
    put_projections(parts, projection, views, hook_kind)
    return pb.ToolOutputProjections.FromString(b"".join(parts))


def put_projections(
    parts: Parts, projection: Projection, views: Iterable[View], hook_kind: HookKind
) -> None:
    """The views that are wanted; no other one is computed (R6).

    The response item's success comes with either form of the item.
    """
    says_response_success = False
    for view in views:
        _PUT_VIEW[view](parts, projection, hook_kind)
        if view in _ITEM_VIEWS:
            says_response_success = True
    put_number(parts, _SUCCESS_FOR_LOGGING, projection.success_for_logging)
    if says_response_success:
        success = projection.response_success
        if success is not None:
            parts.append(_RESPONSE_SUCCESS + varint(success))
    put_number(parts, _CONTAINS_EXTERNAL_CONTEXT, projection.contains_external_context)


def keep_views(
    projections: pb.ToolOutputProjections, views: Sequence[View] | None
) -> pb.ToolOutputProjections | None:
    """Of the views that were made those that are wanted (None: all); None where that is none."""
    if views is None:
        return projections
    for view, field in _VIEW_FIELDS.items():
        if view not in views:
            projections.ClearField(field)
    left = any(projections.HasField(field) for field in _VIEW_FIELDS.values())
    return projections if left else None


def write_response_item(item: ResponseItem) -> pb.ResponseItem:
    """What the model reads, typed."""
    message = pb.ResponseItem()
    match item:
        case FunctionCallOutput():
            _write_output(item, message.function_call_output)
        case CustomToolCallOutput():
            _write_output(item, message.custom_tool_call_output)
        case ToolSearchCallOutput():
            search = message.tool_search_output
            search.call_id = item.call_id
            search.status = item.status
            search.execution = item.execution
            search.tools_json.extend([tool.encode() for tool in item.tools_json])
        case McpToolCallOutput():
            message.mcp_tool_call_output.call_id = item.call_id
            message.mcp_tool_call_output.output_json = item.result_json.encode()
    return message


def _write_output(
    item: FunctionCallOutput | CustomToolCallOutput,
    into: pb.FunctionCallOutputItem | pb.CustomToolCallOutputItem,
) -> None:
    into.call_id = item.call_id
    _write_body(item.body, into.output)
    if item.success is not None:
        into.success = item.success


def _write_body(body: OutputBody, into: pb.OutputBody) -> None:
    if isinstance(body, str):
        into.text = body.encode()
        return
    into.items.SetInParent()
    for item in body:
        _write_item(item, into.items.items.add())


def _write_item(item: ContentItem, into: pb.ContentItem) -> None:
    match item:
        case InputText(text):
            into.input_text.text = text.encode()
        case InputImage(image_url, detail):
            into.input_image.image_url = image_url.encode()
            into.input_image.detail = _DETAIL_NUMBERS[detail]
        case InputAudio(audio_url):
            into.input_audio.audio_url = audio_url.encode()
        case EncryptedContent(content):
            into.encrypted_content.encrypted_content = content.encode()


def _put_log(parts: Parts, projection: Projection, hook_kind: HookKind) -> None:
    begun = begin(parts)
    put_text(parts, _PREVIEW, projection.log_preview)
    end(parts, begun, _LOG)


def _put_response_item(parts: Parts, projection: Projection, hook_kind: HookKind) -> None:
    item = write_response_item(projection.response_item)
    put(parts, _RESPONSE_ITEM, item.SerializeToString())


def _put_response_item_json(parts: Parts, projection: Projection, hook_kind: HookKind) -> None:
    put(parts, _RESPONSE_ITEM_JSON, projection.response_item_json.encode())


def _put_hook(parts: Parts, projection: Projection, hook_kind: HookKind) -> None:
    payload = projection.hook_payload(hook_kind)
    if payload is None:
        return
    begun = begin(parts)
    put_text(parts, _HOOK_TOOL_NAME, payload.tool_name)
    for alias in payload.matcher_aliases:
        put(parts, _MATCHER_ALIASES, alias.encode())
    put_text(parts, _TOOL_USE_ID, payload.tool_use_id)
    put_text(parts, _TOOL_INPUT_JSON, payload.tool_input_json)
    put(parts, _TOOL_RESPONSE_JSON, payload.tool_response_json.encode())
    end(parts, begun, _HOOK)


def _put_code_mode(parts: Parts, projection: Projection, hook_kind: HookKind) -> None:
    put(parts, _CODE_MODE_JSON, projection.code_mode_json.encode())


_PUT_VIEW: Final[Mapping[View, Callable[[Parts, Projection, HookKind], None]]] = {
    View.LOG: _put_log,
    View.RESPONSE_ITEM: _put_response_item,
    View.RESPONSE_ITEM_JSON: _put_response_item_json,
    View.HOOK: _put_hook,
    View.CODE_MODE: _put_code_mode,
}
_ITEM_VIEWS: Final = (View.RESPONSE_ITEM, View.RESPONSE_ITEM_JSON)

_LOG: Final = tag(pb.ToolOutputProjections, "log")
_PREVIEW: Final = tag(pb.LogView, "preview")
_RESPONSE_ITEM: Final = tag(pb.ToolOutputProjections, "response_item")
_RESPONSE_ITEM_JSON: Final = tag(pb.ToolOutputProjections, "response_item_json")
_HOOK: Final = tag(pb.ToolOutputProjections, "hook")
_HOOK_TOOL_NAME: Final = tag(pb.HookPayload, "tool_name")
_MATCHER_ALIASES: Final = tag(pb.HookPayload, "matcher_aliases")
_TOOL_USE_ID: Final = tag(pb.HookPayload, "tool_use_id")
_TOOL_INPUT_JSON: Final = tag(pb.HookPayload, "tool_input_json")
_TOOL_RESPONSE_JSON: Final = tag(pb.HookPayload, "tool_response_json")
_CODE_MODE_JSON: Final = tag(pb.ToolOutputProjections, "code_mode_json")
_SUCCESS_FOR_LOGGING: Final = tag(pb.ToolOutputProjections, "success_for_logging")
_RESPONSE_SUCCESS: Final = tag(pb.ToolOutputProjections, "response_success")
_CONTAINS_EXTERNAL_CONTEXT: Final = tag(pb.ToolOutputProjections, "contains_external_context")
