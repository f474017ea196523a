"""The two frames that an agent sends with every call, read by hand where they are as usual.

Usual is: fields in the order of their numbers and each once, as protobuf writes them; a call
without time-out, views and turn options; an output of text items. All else, and whatever
is wrong, protobuf reads (`wire/client_frames.py`), which says what is wrong. By hand this takes a
third of the time, and copies a long text once less.
"""

from __future__ import annotations

from typing import Final

from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb

from sidecall_server.domain.content import ContentItem, InputText
from sidecall_server.domain.errors import InvalidValue
from sidecall_server.domain.frames import DispatchCall, HandlerResult
from sidecall_server.domain.limits import MAX_LIST_ITEMS
from sidecall_server.domain.outputs import FunctionOutput, ToolOutput
from sidecall_server.domain.truncation import decode_lossy
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    FunctionPayload,
    ToolCall,
    ToolCallSource,
    ToolName,
    ToolPayload,
)
from sidecall_server.wire.wire_form import Cursor, Unusual, tag


def read_usual(data: bytes) -> DispatchCall | HandlerResult | None:
    """The frame; None: it is another one, or not as usual."""
    cursor = Cursor(data)
    try:
        if cursor.at(_DISPATCH_CALL):
            return _dispatch_call(cursor)
        if cursor.at(_HANDLER_RESULT):
            return _handler_result(cursor)
    except (Unusual, UnicodeDecodeError, InvalidValue):
        pass
    return None


def _dispatch_call(cursor: Cursor) -> DispatchCall:
    frame = cursor.enter(_DISPATCH_CALL)
    message = cursor.enter(_CALL)
    call_id = cursor.text(_CALL_ID)
    turn_id = cursor.text(_TURN_ID)
    name = _tool_name(cursor)
    payload = _payload(cursor)
    source = _source(cursor) if cursor.at(_SOURCE) else _DIRECT
    cursor.leave(message)
    traceparent = cursor.text(_TRACEPARENT)
    cursor.leave(frame)
    cursor.finish()
    call = ToolCall(call_id, name, payload, source, turn_id)
    return DispatchCall(call, None, None, None, traceparent, len(cursor.data))


def _tool_name(cursor: Cursor) -> ToolName:
    message = cursor.enter(_TOOL_NAME)
    name = cursor.text(_NAME)
    namespace = cursor.text(_NAMESPACE) if cursor.at(_NAMESPACE) else None
    cursor.leave(message)
    return ToolName(name, namespace)


def _payload(cursor: Cursor) -> ToolPayload:
    message = cursor.enter(_PAYLOAD)
    payload: ToolPayload
    if cursor.at(_FUNCTION):
        member = cursor.enter(_FUNCTION)
        payload = FunctionPayload(cursor.text(_ARGUMENTS))
    else:
        member = cursor.enter(_CUSTOM)
        payload = CustomPayload(cursor.text(_INPUT))
    cursor.leave(member)
    cursor.leave(message)
    return payload


def _source(cursor: Cursor) -> ToolCallSource:
    message = cursor.enter(_SOURCE)
    source: ToolCallSource
    if cursor.at(_DIRECT_SOURCE):
        member = cursor.enter(_DIRECT_SOURCE)
        source = _DIRECT
    else:
        member = cursor.enter(_CODE_MODE)
        source = CodeMode(cursor.text(_CELL_ID), cursor.text(_RUNTIME_TOOL_CALL_ID))
    cursor.leave(member)
    cursor.leave(message)
    return source


def _handler_result(cursor: Cursor) -> HandlerResult:
    frame = cursor.enter(_HANDLER_RESULT)
    token = cursor.raw(_INVOCATION_TOKEN)
    if not token:
        raise Unusual
    message = cursor.enter(_OUTPUT)
    member = cursor.enter(_FUNCTION_OUTPUT)
    content: list[ContentItem] = []
    while cursor.at(_CONTENT):
        if len(content) == MAX_LIST_ITEMS:
            raise Unusual
        content.append(_text_item(cursor))
    success = cursor.truth(_SUCCESS) if cursor.at(_SUCCESS) else None
    cursor.leave(member)
    external = cursor.at(_EXTERNAL_CONTEXT) and cursor.truth(_EXTERNAL_CONTEXT)
    cursor.leave(message)
    cursor.leave(frame)
    cursor.finish()
    output = ToolOutput(FunctionOutput(tuple(content), success), external)
    return HandlerResult(token, output, len(cursor.data))


def _text_item(cursor: Cursor) -> InputText:
    item = cursor.enter(_CONTENT)
    member = cursor.enter(_INPUT_TEXT)
    text = decode_lossy(cursor.raw(_TEXT))
    cursor.leave(member)
    cursor.leave(item)
    return InputText(text)


_DIRECT: Final = Direct()

_DISPATCH_CALL: Final = tag(pb.ClientFrame, "dispatch_call")
_CALL: Final = tag(pb.DispatchCall, "call")
_TRACEPARENT: Final = tag(pb.DispatchCall, "traceparent")
_CALL_ID: Final = tag(call_pb.ToolCall, "call_id")
_TURN_ID: Final = tag(call_pb.ToolCall, "turn_id")
_TOOL_NAME: Final = tag(call_pb.ToolCall, "tool_name")
_NAME: Final = tag(call_pb.ToolName, "name")
_NAMESPACE: Final = tag(call_pb.ToolName, "namespace")
_PAYLOAD: Final = tag(call_pb.ToolCall, "payload")
_FUNCTION: Final = tag(call_pb.ToolPayload, "function")
_ARGUMENTS: Final = tag(call_pb.FunctionPayload, "arguments")
_CUSTOM: Final = tag(call_pb.ToolPayload, "custom")
_INPUT: Final = tag(call_pb.CustomPayload, "input")
_SOURCE: Final = tag(call_pb.ToolCall, "source")
_DIRECT_SOURCE: Final = tag(call_pb.ToolCallSource, "direct")
_CODE_MODE: Final = tag(call_pb.ToolCallSource, "code_mode")
_CELL_ID: Final = tag(call_pb.CodeModeSource, "cell_id")
_RUNTIME_TOOL_CALL_ID: Final = tag(call_pb.CodeModeSource, "runtime_tool_call_id")

_HANDLER_RESULT: Final = tag(pb.ClientFrame, "handler_result")
_INVOCATION_TOKEN: Final = tag(pb.HandlerResult, "invocation_token")
_OUTPUT: Final = tag(pb.HandlerResult, "output")
_FUNCTION_OUTPUT: Final = tag(output_pb.ToolOutput, "function")
_EXTERNAL_CONTEXT: Final = tag(output_pb.ToolOutput, "contains_external_context")
_CONTENT: Final = tag(output_pb.FunctionOutput, "content")
_SUCCESS: Final = tag(output_pb.FunctionOutput, "success")
_INPUT_TEXT: Final = tag(output_pb.ContentItem, "input_text")
_TEXT: Final = tag(output_pb.InputText, "text")
