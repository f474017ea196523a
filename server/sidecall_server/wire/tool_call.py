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


def write_tool_name(name: ToolName, into: pb.ToolName | None = None) -> pb.ToolName:
    message = pb.ToolName() if into is None else into
    message.name = name.name
    if name.namespace is not None:
        message.namespace = name.namespace
    return message


def write_tool_call(call: ToolCall, into: pb.ToolCall | None = None) -> pb.ToolCall:
    """A call, as an agent is to run it."""
    message = pb.ToolCall() if into is None else into
    message.call_id = call.call_id
    message.turn_id = call.turn_id
    write_tool_name(call.tool_name, message.tool_name)
    _write_payload(call.payload, message.payload)
    _write_source(call.source, message.source)
    return message


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


def _write_payload(payload: ToolPayload, into: pb.ToolPayload) -> None:
    match payload:
        case FunctionPayload(arguments):
            into.function.arguments = arguments.encode()
        case CustomPayload(text):
            into.custom.input = text.encode()
        case ToolSearchPayload(query, limit):
            into.tool_search.query = query
            if limit is not None:
                into.tool_search.limit = limit


def _write_source(source: ToolCallSource, into: pb.ToolCallSource) -> None:
    match source:
        case Direct():
            into.direct.SetInParent()
        case DirectPlaintextMessage():
            into.direct_plaintext_message.SetInParent()
        case CodeMode(cell_id, runtime_tool_call_id):
            into.code_mode.cell_id = cell_id
            into.code_mode.runtime_tool_call_id = runtime_tool_call_id
