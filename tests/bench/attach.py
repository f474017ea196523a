"""Unary: describe a prompt, and get the records of its calls."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import grpc.aio
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1.recorder_service_pb2_grpc import RecorderServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.bench import echo
from tests.bench.frames import TOOL, arguments_of
from tests.bench.window import Window

ATTACH: Final = "/sidecall.v1.RecorderService/AttachExecutedToolCalls"
RECORDS: Final = 240
"""Outputs that carry a record, evenly spread over the prompt."""

ARGUMENTS_BYTES: Final = 86
"""Of each record: all of them together just fit a prompt."""

METADATA_BYTES: Final = (30 << 10, 32 << 10)
"""What all records together add to a prompt: the most that is ever attached."""

TURN_OUTPUTS: Final = 20
WARM_UP_CALLS: Final = 5
IN_FLIGHT: Final = 2
"""One is on its way while the other is served."""

_REQUEST: Final = "request_%08d"
_REQUEST_FIELD: Final = pb.AttachExecutedToolCallsRequest.SAMPLING_REQUEST_ID_FIELD_NUMBER << 3 | 2


@dataclass(frozen=True)
class Attach:
    """What is asked for."""

    outputs: int
    """Outputs of the prompt. Each request is a new one, not a retry."""


class AttachLoad:
    """Requests to one server, with one session for each size of prompt."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._prompts: dict[Attach, bytes] = {}
        self._requests = count()

    async def sidecall(self, attach: Attach, window: Window) -> dict[str, object]:
        """Ask the recorder."""
        return await self._measure(ATTACH, await self._prompt(attach), window)

    async def echo(self, attach: Attach, window: Window) -> dict[str, object]:
        """Ask the echo, which answers as the recorder did."""
        prompt = await self._prompt(attach)
        answer = await self._unary(ATTACH)(self._named(prompt))
        await self._unary(echo.PREPARE)(answer)
        return await self._measure(echo.UNARY, prompt, window)

    async def _measure(self, method: str, prompt: bytes, window: Window) -> dict[str, object]:
        ask = self._unary(method)
        for _ in range(WARM_UP_CALLS):
            await ask(self._named(prompt))

        async def ask_on() -> None:
            while not window.over:
                await ask(self._named(prompt))
                window.counts.calls += 1
                window.counts.messages_sent += 1
                window.counts.messages_received += 1

        window.open()
        await asyncio.gather(*(ask_on() for _ in range(IN_FLIGHT)))
        return window.close()

    def _named(self, prompt: bytes) -> bytes:
        name = (_REQUEST % next(self._requests)).encode()
        return prompt + bytes((_REQUEST_FIELD, len(name))) + name

    def _unary(self, method: str) -> Any:
        return self._channel.unary_unary(method)

    async def _prompt(self, attach: Attach) -> bytes:
        """The request, without its sampling request id, of a session that holds the records."""
        if attach not in self._prompts:
            self._prompts[attach] = await self._record(attach.outputs)
        return self._prompts[attach]

    async def _record(self, outputs: int) -> bytes:
        sessions: Any = SessionServiceStub(self._channel)
        recorder: Any = RecorderServiceStub(self._channel)
        created = await sessions.CreateSession(session_pb.CreateSessionRequest())
        session_id = created.session.session_id
        for number in range(0, outputs, outputs // RECORDS)[:RECORDS]:
            call = call_pb.ToolCall(
                turn_id=_turn(number), call_id=_call(number), tool_name=call_pb.ToolName(name=TOOL)
            )
            call.payload.function.arguments = arguments_of(ARGUMENTS_BYTES)
            await recorder.RecordToolCall(
                pb.RecordToolCallRequest(session_id=session_id, call=call)
            )
        request = pb.AttachExecutedToolCallsRequest(
            session_id=session_id,
            turn_id=_turn(outputs),
            formats=[pb.EXECUTED_TOOL_CALL_FORMAT_JSON],
            outputs=[
                pb.PromptOutput(
                    kind=call_pb.PAYLOAD_KIND_FUNCTION,
                    call_id=_call(number),
                    turn_id=_turn(number),
                )
                for number in range(outputs)
            ],
        ).SerializeToString()
        answer = pb.AttachExecutedToolCallsResponse.FromString(
            await self._unary(ATTACH)(self._named(request))
        )
        added = sum(output.metadata_bytes for output in answer.outputs)
        assert METADATA_BYTES[0] <= added <= METADATA_BYTES[1], added
        assert len(answer.outputs) == RECORDS, len(answer.outputs)
        return request


def _turn(number: int) -> str:
    return f"turn_{number // TURN_OUTPUTS:06d}"


def _call(number: int) -> str:
    return f"call_{number:06d}"
