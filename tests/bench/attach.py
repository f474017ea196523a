"""Unary: describe a prompt, and get the records of its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, cycle
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
"""What so many records together add to a prompt: the most that is ever attached."""

TURN_OUTPUTS: Final = 20
WARM_UP_CALLS: Final = 5
_REQUEST: Final = "request_%08d"
_REQUEST_FIELD: Final = pb.AttachExecutedToolCallsRequest.SAMPLING_REQUEST_ID_FIELD_NUMBER << 3 | 2


@dataclass(frozen=True)
class Attach:
    """What is asked for."""

    outputs: int
    """Outputs that are described. Each request is a new one, not a retry."""
    base: int = 0
    """Outputs before them that stay from the last prompt."""
    records: int = RECORDS
    """Outputs that carry a record, of those that stay from one request to the next."""
    changing: bool = False
    """Whether the outputs are others in each request, as those of a new turn are."""
    in_flight: int = 2
    """One is on its way while the other is served; a base is only known from the answer before."""


@dataclass
class _Prompt:
    """A prompt to ask for."""

    requests: Iterator[bytes]
    """Without their sampling request id and their base."""
    kept_outputs: int = 0
    token: bytes = b""
    """Of the session's last prompt; needed where outputs stay."""


class AttachLoad:
    """Requests to one server, with one session for each size of prompt."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._prompts: dict[Attach, _Prompt] = {}
        self._requests = count()

    async def sidecall(self, attach: Attach, window: Window) -> dict[str, object]:
        """Ask the recorder."""
        return await self._measure(ATTACH, attach, window)

    async def echo(self, attach: Attach, window: Window) -> dict[str, object]:
        """Ask the echo, which answers as the recorder did."""
        answer = await self._ask(ATTACH, await self._prompt(attach))
        await self._unary(echo.PREPARE)(answer)
        return await self._measure(echo.UNARY, attach, window)

    async def _measure(self, method: str, attach: Attach, window: Window) -> dict[str, object]:
        prompt = await self._prompt(attach)
        for _ in range(WARM_UP_CALLS):
            await self._ask(method, prompt)

        async def ask_on() -> None:
            while not window.over:
                await self._ask(method, prompt)
                window.counts.calls += 1
                window.counts.messages_sent += 1
                window.counts.messages_received += 1

        window.open()
        await asyncio.gather(*(ask_on() for _ in range(attach.in_flight)))
        return window.close()

    async def _ask(self, method: str, prompt: _Prompt) -> bytes:
        name = (_REQUEST % next(self._requests)).encode()
        request = next(prompt.requests) + bytes((_REQUEST_FIELD, len(name))) + name
        if prompt.kept_outputs:
            base = pb.PromptBase(prompt_token=prompt.token, kept_outputs=prompt.kept_outputs)
            request += pb.AttachExecutedToolCallsRequest(base=base).SerializeToString()
        answer: bytes = await self._unary(method)(request)
        if prompt.kept_outputs:
            prompt.token = pb.AttachExecutedToolCallsResponse.FromString(answer).prompt_token
        return answer

    def _unary(self, method: str) -> Any:
        return self._channel.unary_unary(method)

    async def _prompt(self, attach: Attach) -> _Prompt:
        """That of a session that holds its records."""
        if attach not in self._prompts:
            self._prompts[attach] = await self._record(attach)
        return self._prompts[attach]

    async def _record(self, attach: Attach) -> _Prompt:
        sessions: Any = SessionServiceStub(self._channel)
        recorder: Any = RecorderServiceStub(self._channel)
        created = await sessions.CreateSession(session_pb.CreateSessionRequest())
        session_id = created.session.session_id
        staying = range(attach.base or attach.outputs)
        carrying = staying[:: max(1, len(staying) // max(1, attach.records))][: attach.records]
        for number in carrying:
            call = call_pb.ToolCall(
                turn_id=_turn(number), call_id=_call(number), tool_name=call_pb.ToolName(name=TOOL)
            )
            call.payload.function.arguments = arguments_of(ARGUMENTS_BYTES)
            await recorder.RecordToolCall(
                pb.RecordToolCallRequest(session_id=session_id, call=call)
            )
        starts = [attach.base, attach.base + attach.outputs][: 1 + attach.changing]
        requests = [_request(session_id, range(start, start + attach.outputs)) for start in starts]
        prompt = _Prompt(cycle(requests), attach.base)
        if attach.base:
            first = await self._ask(ATTACH, _Prompt(iter([_request(session_id, staying)])))
            prompt.token = pb.AttachExecutedToolCallsResponse.FromString(first).prompt_token
        answer = pb.AttachExecutedToolCallsResponse.FromString(await self._ask(ATTACH, prompt))
        assert [output.output_index for output in answer.outputs] == list(carrying)
        if attach.records == RECORDS:
            added = sum(output.metadata_bytes for output in answer.outputs)
            assert METADATA_BYTES[0] <= added <= METADATA_BYTES[1], added
        return prompt


def _request(session_id: str, outputs: range) -> bytes:
    return pb.AttachExecutedToolCallsRequest(
        session_id=session_id,
        turn_id=_turn(outputs.stop),
        formats=[pb.EXECUTED_TOOL_CALL_FORMAT_JSON],
        outputs=[
            pb.PromptOutput(
                kind=call_pb.PAYLOAD_KIND_FUNCTION, call_id=_call(number), turn_id=_turn(number)
            )
            for number in outputs
        ],
    ).SerializeToString()


def _turn(number: int) -> str:
    return f"turn_{number // TURN_OUTPUTS:06d}"


def _call(number: int) -> str:
    return f"call_{number:06d}"
