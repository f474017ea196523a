"""Frames as an agent writes them, short enough to be read in a test."""

from __future__ import annotations

from typing import Any

from google.protobuf.duration_pb2 import Duration
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb


def seconds(value: float) -> Duration:
    """A time."""
    whole = int(value)
    return Duration(seconds=whole, nanos=round((value - whole) * 1e9))


def reference(call_id: str, turn_id: str = "turn") -> outcome_pb.CallReference:
    """The name of a call."""
    return outcome_pb.CallReference(turn_id=turn_id, call_id=call_id)


def tool(name: str, **options: Any) -> pb.ToolDeclaration:
    """A tool; `options` are fields of its declaration."""
    return pb.ToolDeclaration(tool_name=call_pb.ToolName(name=name), **options)


def hook(point: pb.HookPoint.ValueType, *matchers: str, timeout: float) -> pb.HookDeclaration:
    """A hook."""
    return pb.HookDeclaration(point=point, matchers=matchers, timeout=seconds(timeout))


def call(
    call_id: str,
    name: str = "echo",
    *,
    turn_id: str = "turn",
    arguments: bytes = b"{}",
    custom: bool = False,
    cell_id: str = "",
) -> call_pb.ToolCall:
    """A call of a tool."""
    payload = call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=arguments))
    if custom:
        payload = call_pb.ToolPayload(custom=call_pb.CustomPayload(input=arguments))
    source = None
    if cell_id:
        source = call_pb.ToolCallSource(code_mode=call_pb.CodeModeSource(cell_id=cell_id))
    return call_pb.ToolCall(
        call_id=call_id,
        turn_id=turn_id,
        tool_name=call_pb.ToolName(name=name),
        payload=payload,
        source=source,
    )


def dispatch(
    call: call_pb.ToolCall,
    *,
    timeout: float | None = None,
    views: output_pb.ViewSelection | None = None,
) -> pb.ClientFrame:
    """Submits a call."""
    frame = pb.DispatchCall(
        call=call, views=views, timeout=None if timeout is None else seconds(timeout)
    )
    return pb.ClientFrame(dispatch_call=frame)


def text_output(text: bytes = b"done") -> output_pb.ToolOutput:
    """What a handler returns."""
    item = output_pb.ContentItem(input_text=output_pb.InputText(text=text))
    return output_pb.ToolOutput(function=output_pb.FunctionOutput(content=[item], success=True))


def answer(token: bytes, text: bytes = b"done") -> pb.ClientFrame:
    """A handler returned."""
    result = pb.HandlerResult(invocation_token=token, output=text_output(text))
    return pb.ClientFrame(handler_result=result)


def cancel(cancel_id: int, **target: Any) -> pb.ClientFrame:
    """Cancels calls; `target` is a field of CancelTarget."""
    frame = pb.CancelCalls(cancel_id=cancel_id, target=pb.CancelTarget(**target))
    return pb.ClientFrame(cancel_calls=frame)


def chunk(transfer_id: int, size_bytes: int, data: bytes) -> pb.ClientFrame:
    """A piece of a frame."""
    piece = pb.OutputChunk(transfer_id=transfer_id, size_bytes=size_bytes, data=data)
    return pb.ClientFrame(output_chunk=piece)


def chunks(transfer_id: int, frame: pb.ClientFrame, chunk_bytes: int) -> list[pb.ClientFrame]:
    """A frame in pieces."""
    data = frame.SerializeToString()
    return [
        chunk(transfer_id, len(data), data[start : start + chunk_bytes])
        for start in range(0, len(data), chunk_bytes)
    ]


HEARTBEAT = pb.ClientFrame(heartbeat=pb.Heartbeat())
