"""Ready-made bytes for the stream, and just enough reading of what comes back.

The load must cost less than what it measures, so frames are serialised once and only ids and
tokens are put in afterwards; of the server's frames only the kind and the token are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb

TOOL: Final = "work"
TURN_CALLS: Final = 64
"""Calls of one turn; the next turn's first message ends it."""

INVOKE_HANDLER: Final = pb.ServerFrame.INVOKE_HANDLER_FIELD_NUMBER << 3 | 2
CALL_COMPLETED: Final = pb.ServerFrame.CALL_COMPLETED_FIELD_NUMBER << 3 | 2
"""The first byte of such a frame."""

UNWANTED: Final = frozenset(
    field << 3 | 2
    for field in (
        pb.ServerFrame.FRAME_ERROR_FIELD_NUMBER,
        pb.ServerFrame.OUTPUT_CHUNK_FIELD_NUMBER,
        pb.ServerFrame.ABORT_HANDLER_FIELD_NUMBER,
        pb.ServerFrame.DRAIN_FIELD_NUMBER,
    )
)
"""The first bytes of frames that no cell asks for."""

DETACH: Final = pb.ClientFrame(detach=pb.Detach(close_session=True)).SerializeToString()
"""The last frame of an agent: it closes the session."""

LEAVE: Final = pb.ClientFrame(detach=pb.Detach()).SerializeToString()
"""The last frame of an agent whose session stays."""

_SEQUENCE: Final = b"\x08"
_ACKNOWLEDGED: Final = b"\x10"
_FRAME: Final = b"\x1a"
_HANDLER_RESULT: Final = bytes([pb.ClientFrame.HANDLER_RESULT_FIELD_NUMBER << 3 | 2])
_TOKEN: Final = b"\x0a"

_TURN: Final = "turn_%08d"
_CALL: Final = "call_%08d"
_LINE: Final = '2026-12-01T12:00:00Z INFO worker 7: wrote "build/report.json" in 12 ms\n'


def text_of(size_bytes: int) -> str:
    """Text as tools write it, with lines and quotes, of so many bytes of UTF-8."""
    return (_LINE * (size_bytes // len(_LINE) + 1))[:size_bytes]


def arguments_of(size_bytes: int) -> bytes:
    """JSON arguments of so many bytes."""
    frame = len(json.dumps({"path": "build/report.json", "text": ""}))
    text = ("lorem ipsum " * (size_bytes // 12 + 1))[: size_bytes - frame]
    return json.dumps({"path": "build/report.json", "text": text}).encode()


def hello(views: Sequence[output_pb.View.ValueType] | None = None) -> bytes:
    """The first message: one tool that runs beside itself; `views` of its outcomes."""
    frame = pb.Hello(
        protocol_versions=[1],
        client_name="bench",
        tools=[
            pb.ToolDeclaration(tool_name=call_pb.ToolName(name=TOOL), supports_parallel_calls=True)
        ],
    )
    if views is not None:
        frame.options.direct_views.views.extend(views)
    return pb.ConnectRequest(frames=[pb.ClientFrame(hello=frame)]).SerializeToString()


class Dispatches:
    """DispatchCall, once for each call, with an EndTurn before each new turn."""

    def __init__(self, arguments_bytes: int, tool: str = TOOL) -> None:
        call = call_pb.ToolCall(
            turn_id=_TURN % 0,
            call_id=_CALL % 0,
            tool_name=call_pb.ToolName(name=tool),
            payload=call_pb.ToolPayload(
                function=call_pb.FunctionPayload(arguments=arguments_of(arguments_bytes))
            ),
        )
        self._frame = pb.ClientFrame(dispatch_call=pb.DispatchCall(call=call)).SerializeToString()
        self._end = pb.ClientFrame(end_turn=pb.EndTurn(turn_id=_TURN % 0)).SerializeToString()
        self._dispatched = 0

    def next(self) -> list[bytes]:
        """The frames of the next call."""
        number, turn = self._dispatched, self._dispatched // TURN_CALLS
        self._dispatched += 1
        frame = self._frame.replace((_CALL % 0).encode(), (_CALL % number).encode(), 1)
        frame = frame.replace((_TURN % 0).encode(), (_TURN % turn).encode(), 1)
        if number % TURN_CALLS or not number:
            return [frame]
        return [self._end.replace((_TURN % 0).encode(), (_TURN % (turn - 1)).encode()), frame]


class Results:
    """HandlerResult with one output; only the token differs."""

    def __init__(self, output_bytes: int) -> None:
        output = output_pb.ToolOutput()
        text = text_of(output_bytes).encode()
        output.function.content.add().input_text.text = text
        output.function.success = True
        self._output = pb.HandlerResult(output=output).SerializeToString()

    def of(self, token: bytes) -> bytes:
        """The frame that answers the invocation."""
        token = _TOKEN + _varint(len(token)) + token
        size = _varint(len(token) + len(self._output))
        return b"".join((_HANDLER_RESULT, size, token, self._output))


def seal(sequence: int, acknowledged: int, frames: Sequence[bytes]) -> bytes:
    """A ConnectRequest."""
    parts = [_SEQUENCE, _varint(sequence), _ACKNOWLEDGED, _varint(acknowledged)]
    for frame in frames:
        parts += (_FRAME, _varint(len(frame)), frame)
    return b"".join(parts)


def sequence_of(message: bytes) -> int:
    """The sequence of a ConnectResponse; 0: not counted."""
    return _read_varint(message, 1)[0] if message[:1] == _SEQUENCE else 0


def frames_of(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The frames of a ConnectResponse: kind, and the token of an InvokeHandler.

    Raises:
        AssertionError: one of them is not what a cell expects; its text shows the message.
    """
    at = 0
    while at < len(message):
        tag = message[at : at + 1]
        value, at = _read_varint(message, at + 1)
        if tag != _FRAME:
            continue
        kind = message[at]
        token = b""
        if kind == INVOKE_HANDLER:
            _, inner = _read_varint(message, at + 1)
            size, start = _read_varint(message, inner + 1)
            token = message[start : start + size]
        elif kind in UNWANTED:
            raise AssertionError(pb.ConnectResponse.FromString(message))
        yield kind, token
        at += value


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
