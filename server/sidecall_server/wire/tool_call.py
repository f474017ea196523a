"""tool_call.proto: calls come in, names and kinds go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sidecall.v1 import tool_call_pb2 as pb

from sidecall_server.domain.errors import InvalidArgument, InvalidValue
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    DirectPlaintextMessage,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolCallSource,
    ToolMode,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)
from sidecall_server.wire.validation import (
    Problems,
    checked,
    missing,
    read_id,
    read_oneof,
    read_required_id,
    read_text,
)
from sidecall_server.wire.wire_form import Parts, begin, end, message_of, put, put_text, tag, varint

PAYLOAD_KINDS: Final[Mapping[int, PayloadKind]] = {
    pb.PAYLOAD_KIND_FUNCTION: PayloadKind.FUNCTION,
    pb.PAYLOAD_KIND_CUSTOM: PayloadKind.CUSTOM,
    pb.PAYLOAD_KIND_TOOL_SEARCH: PayloadKind.TOOL_SEARCH,
}
TOOL_MODES: Final[Mapping[int, ToolMode]] = {
    pb.TOOL_MODE_DIRECT: ToolMode.DIRECT,
    pb.TOOL_MODE_CODE_MODE: ToolMode.CODE_MODE,
    pb.TOOL_MODE_CODE_MODE_ONLY: ToolMode.CODE_MODE_ONLY,
}
PAYLOAD_KIND_NUMBERS: Final = {
    PayloadKind.FUNCTION: pb.PAYLOAD_KIND_FUNCTION,
    PayloadKind.CUSTOM: pb.PAYLOAD_KIND_CUSTOM,
    PayloadKind.TOOL_SEARCH: pb.PAYLOAD_KIND_TOOL_SEARCH,
}
TOOL_MODE_NUMBERS: Final = {
    ToolMode.DIRECT: pb.TOOL_MODE_DIRECT,
    ToolMode.CODE_MODE: pb.TOOL_MODE_CODE_MODE,
    ToolMode.CODE_MODE_ONLY: pb.TOOL_MODE_CODE_MODE_ONLY,
}
_DIRECT: Final = Direct()


def read_tool_call(message: pb.ToolCall, path: str) -> ToolCall:
    """A call; says of all its fields at once which cannot be used."""
    if message.HasField("tool_name"):
        source = message.source if message.HasField("source") else None
        try:
            return ToolCall(
                message.call_id,
                _tool_name(message.tool_name),
                read_tool_payload(message.payload, f"{path}.payload"),
                _DIRECT if source is None else _read_source(source, f"{path}.source"),
                message.turn_id,
            )
        except (InvalidValue, InvalidArgument):
            pass  # there may be more to refuse than this
    return _read_field_by_field(message, path)


def _read_field_by_field(message: pb.ToolCall, path: str) -> ToolCall:
    """The same, slower, for a call of which something is refused."""
    problems = Problems()
    source: ToolCallSource = _DIRECT
    with problems:
        call_id = read_required_id(message.call_id, f"{path}.call_id")
    with problems:
        turn_id = read_id(message.turn_id, f"{path}.turn_id")
    with problems:
        if not message.HasField("tool_name"):
            raise missing(f"{path}.tool_name")
        tool_name = read_tool_name(message.tool_name, f"{path}.tool_name")
    with problems:
        payload = read_tool_payload(message.payload, f"{path}.payload")
    if message.HasField("source"):
        with problems:
            source = _read_source(message.source, f"{path}.source")
    problems.check()
    return ToolCall(call_id, tool_name, payload, source, turn_id)


def read_tool_name(message: pb.ToolName, path: str) -> ToolName:
    """A name; an empty one is the model's affair, an absent namespace differs from an empty."""
    return checked(path, _tool_name, message)


def _tool_name(message: pb.ToolName) -> ToolName:
    return ToolName(message.name, message.namespace if message.HasField("namespace") else None)


def read_tool_payload(message: pb.ToolPayload, path: str) -> ToolPayload:
    """A payload; its text must be UTF-8."""
    return _PAYLOADS[read_oneof(message, "payload", path, _PAYLOADS)](message, path)


def write_tool_name(name: ToolName) -> pb.ToolName:
    """A name, as a message of its own."""
    return message_of(pb.ToolName, put_tool_name, name)


def put_tool_name(parts: Parts, name: ToolName) -> None:
    """The fields of a name."""
    put_text(parts, _NAME, name.name)
    namespace = name.namespace
    if namespace is not None:
        put(parts, _NAMESPACE, namespace.encode())


def put_tool_call(parts: Parts, call: ToolCall) -> None:
    """The fields of a call, as an agent is to run it."""
    put_text(parts, _CALL_ID, call.call_id)
    put_text(parts, _TURN_ID, call.turn_id)
    begun = begin(parts)
    put_tool_name(parts, call.tool_name)
    end(parts, begun, _TOOL_NAME)
    begun = begin(parts)
    _put_payload(parts, call.payload)
    end(parts, begun, _PAYLOAD)
    begun = begin(parts)
    _put_source(parts, call.source)
    end(parts, begun, _SOURCE)


def _read_function(message: pb.ToolPayload, path: str) -> ToolPayload:
    return FunctionPayload(read_text(message.function.arguments, f"{path}.function.arguments"))


def _read_custom(message: pb.ToolPayload, path: str) -> ToolPayload:
    return CustomPayload(read_text(message.custom.input, f"{path}.custom.input"))


def _read_tool_search(message: pb.ToolPayload, path: str) -> ToolPayload:
    search = message.tool_search
    return ToolSearchPayload(search.query, search.limit if search.HasField("limit") else None)


_PAYLOADS: Final[Mapping[str, Callable[[pb.ToolPayload, str], ToolPayload]]] = {
    "function": _read_function,
    "custom": _read_custom,
    "tool_search": _read_tool_search,
}


def _read_source(message: pb.ToolCallSource, path: str) -> ToolCallSource:
    match message.WhichOneof("source"):
        case "code_mode":
            return checked(
                f"{path}.code_mode",
                CodeMode,
                cell_id=message.code_mode.cell_id,
                runtime_tool_call_id=message.code_mode.runtime_tool_call_id,
            )
        case "direct_plaintext_message":
            return DirectPlaintextMessage()
        case _:
            return _DIRECT


def _put_payload(parts: Parts, payload: ToolPayload) -> None:
    begun = begin(parts)
    if isinstance(payload, FunctionPayload):
        put_text(parts, _ARGUMENTS, payload.arguments)
        end(parts, begun, _FUNCTION)
    elif isinstance(payload, CustomPayload):
        put_text(parts, _INPUT, payload.input)
        end(parts, begun, _CUSTOM)
    else:
        put_text(parts, _QUERY, payload.query)
        if payload.limit is not None:
            parts.append(_LIMIT + varint(payload.limit))
        end(parts, begun, _TOOL_SEARCH)


def _put_source(parts: Parts, source: ToolCallSource) -> None:
    begun = begin(parts)
    if isinstance(source, Direct):
        end(parts, begun, _DIRECT_SOURCE)
    elif isinstance(source, CodeMode):
        put_text(parts, _CELL_ID, source.cell_id)
        put_text(parts, _RUNTIME_TOOL_CALL_ID, source.runtime_tool_call_id)
        end(parts, begun, _CODE_MODE)
    else:
        end(parts, begun, _DIRECT_PLAINTEXT_MESSAGE)


_NAME: Final = tag(pb.ToolName, "name")
_NAMESPACE: Final = tag(pb.ToolName, "namespace")
_CALL_ID: Final = tag(pb.ToolCall, "call_id")
_TURN_ID: Final = tag(pb.ToolCall, "turn_id")
_TOOL_NAME: Final = tag(pb.ToolCall, "tool_name")
_PAYLOAD: Final = tag(pb.ToolCall, "payload")
_SOURCE: Final = tag(pb.ToolCall, "source")
_FUNCTION: Final = tag(pb.ToolPayload, "function")
_CUSTOM: Final = tag(pb.ToolPayload, "custom")
_TOOL_SEARCH: Final = tag(pb.ToolPayload, "tool_search")
_ARGUMENTS: Final = tag(pb.FunctionPayload, "arguments")
_INPUT: Final = tag(pb.CustomPayload, "input")
_QUERY: Final = tag(pb.ToolSearchPayload, "query")
_LIMIT: Final = tag(pb.ToolSearchPayload, "limit")
_DIRECT_SOURCE: Final = tag(pb.ToolCallSource, "direct")
_DIRECT_PLAINTEXT_MESSAGE: Final = tag(pb.ToolCallSource, "direct_plaintext_message")
_CODE_MODE: Final = tag(pb.ToolCallSource, "code_mode")
_CELL_ID: Final = tag(pb.CodeModeSource, "cell_id")
_RUNTIME_TOOL_CALL_ID: Final = tag(pb.CodeModeSource, "runtime_tool_call_id")
