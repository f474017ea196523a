"""The handlers and hooks of an agent, asked by hand: what they answer, and when they stop."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from sidecall.client import (
    Block,
    CallReference,
    FatalError,
    FunctionOutput,
    Hook,
    HookInput,
    Invocation,
    Proceed,
    RespondToModelError,
    SidecallError,
    Tool,
)
from sidecall.client import work as work_module
from sidecall.client.link import Place
from sidecall.client.tools import Handler, HookFunction
from sidecall.client.work import UnhandledErrors, Work
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb

CAFE = "caf" + os.fsdecode(b"\xe9")
"""The name of a file as Python has it, which UTF-8 cannot carry."""

REFERENCE = outcome_pb.CallReference(turn_id="t", call_id="c")
CALL = CallReference("t", "c")


class Asked:
    """Work whose answers come into a queue."""

    def __init__(self, unhandled_errors: UnhandledErrors = "fatal") -> None:
        self.answers: asyncio.Queue[pb.ClientFrame] = asyncio.Queue()
        self.places: list[Place] = []
        self.work = Work(self._answer, unhandled_errors)
        self.work.max_frame_bytes = 10_000

    def _answer(self, frame: pb.ClientFrame, place: Place, call: CallReference) -> None:
        assert call == CALL
        self.places.append(place)
        self.answers.put_nowait(frame)

    def handler(self, handler: Handler, token: bytes = b"1") -> None:
        call = call_pb.ToolCall(
            call_id="c",
            turn_id="t",
            tool_name=call_pb.ToolName(name="x"),
            payload=call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
        )
        invocation = pb.InvokeHandler(invocation_token=token, call=call)
        self.work.invoke_handler(invocation, {(None, "x"): Tool("x", handler)})

    def hook(self, function: HookFunction) -> None:
        payload = output_pb.HookPayload(tool_name="x", tool_input_json=b"{}")
        invocation = pb.InvokeHook(
            hook_token=b"1",
            call=REFERENCE,
            point=pb.HOOK_POINT_PRE_TOOL_USE,
            payload=payload,
        )
        self.work.invoke_hook(invocation, [Hook("pre_tool_use", function)])

    def abort(self, token: bytes = b"1", **fields: Any) -> None:
        self.work.abort(pb.AbortHandler(token=token, call=REFERENCE, **fields))

    async def result(self) -> pb.HandlerResult:
        return (await self.answers.get()).handler_result

    async def verdict(self) -> pb.HookVerdict:
        return (await self.answers.get()).hook_verdict


class Held:
    """A handler that tests hold; it counts how often it was told to stop."""

    def __init__(self, heeds: bool = True) -> None:
        self.heeds = heeds
        self.started = asyncio.Event()
        self.told = asyncio.Event()
        self.let_go = asyncio.Event()
        self.told_times = 0
        self.ended = asyncio.Event()

    async def __call__(self, invocation: Invocation) -> str:
        self.started.set()
        try:
            await self._wait()
            return "held"
        finally:
            self.ended.set()

    async def _wait(self) -> None:
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.told_times += 1
            self.told.set()
            if self.heeds:
                raise
            await self._wait()


def raising(error: BaseException) -> Handler:
    async def handler(invocation: Invocation) -> str:
        raise error

    return handler


class MuteError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("mute")


class StrangeError(BaseException):
    """What nobody expects."""


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (RespondToModelError(CAFE), "respond_to_model", b"caf?"),
        (FatalError(CAFE), "fatal", b"caf?"),
        (ValueError(CAFE), "unhandled_error", b"caf?"),
        (MuteError(), "unhandled_error", b"MuteError"),
        (StrangeError("odd"), "unhandled_error", b"odd"),
        (asyncio.CancelledError(), "unhandled_error", b"the handler cancelled itself"),
    ],
)
async def test_whatever_a_handler_raises_there_is_an_answer(
    error: BaseException, kind: str, message: bytes
) -> None:
    asked = Asked()
    asked.handler(raising(error))
    result = await asked.result()
    assert result.WhichOneof("result") == kind
    assert getattr(result, kind).message == message


async def test_an_output_that_utf_8_cannot_carry_is_sent_all_the_same() -> None:
    async def handler(invocation: Invocation) -> FunctionOutput:
        return FunctionOutput(CAFE, post_tool_use_response_json=f'"{CAFE}"')

    asked = Asked()
    asked.handler(handler)
    output = (await asked.result()).output.function
    assert output.content[0].input_text.text == b"caf?"
    assert output.post_tool_use_response_json == b'"caf?"'


async def test_a_verdict_that_utf_8_cannot_carry_is_sent_all_the_same() -> None:
    async def hook(asked: HookInput) -> Block:
        return Block(CAFE, [CAFE])

    asked = Asked()
    asked.hook(hook)
    verdict = await asked.verdict()
    assert verdict.block.reason == b"caf?"
    assert list(verdict.additional_contexts) == [b"caf?"]


async def test_a_hook_that_cancels_itself_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def hook(asked: HookInput) -> None:
        raise asyncio.CancelledError

    asked = Asked()
    asked.hook(hook)
    assert (await asked.verdict()).WhichOneof("verdict") == "failed"
    assert "a hook cancelled itself" in caplog.text


async def test_a_verdict_that_is_too_large_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def hook(asked: HookInput) -> Proceed:
        return Proceed(["x" * 20_000])

    asked = Asked()
    asked.hook(hook)
    assert (await asked.verdict()).failed.message.startswith(b"MESSAGE_TOO_LARGE")
    assert "MESSAGE_TOO_LARGE" in caplog.text


async def test_a_verdict_that_is_refused_has_failed() -> None:
    async def hook(asked: HookInput) -> Proceed:
        return Proceed(["context"])

    asked = Asked()
    asked.hook(hook)
    await asked.verdict()
    asked.places[0].put(7, 0)
    error = SidecallError("no room", reason="BUFFER_LIMIT")
    assert asked.work.refused(pb.FrameError(sequence=7, frame_index=0), error)
    assert (await asked.verdict()).failed.message == b"no room"


async def test_a_refused_answer_of_an_ended_call_concerns_nobody() -> None:
    asked = Asked()
    asked.handler(raising(FatalError("no")))
    await asked.result()
    asked.places[0].put(7, 0)
    asked.work.call_ended(CALL)
    assert not asked.work.refused(pb.FrameError(sequence=7), SidecallError("no room"))


async def test_a_handler_whose_call_has_ended_stops() -> None:
    asked, held = Asked(), Held()
    asked.handler(held)
    await held.started.wait()
    asked.work.call_ended(CALL)
    await held.ended.wait()
    assert held.told_times == 1
    assert asked.answers.empty()


async def test_a_handler_is_told_to_stop_once_so_that_its_teardown_is_not_disturbed() -> None:
    asked, held = Asked(), Held(heeds=False)
    asked.handler(held)
    await held.started.wait()
    asked.abort(wait_for_teardown=True)
    await held.told.wait()
    asked.abort()
    asked.work.call_ended(CALL)
    stopping = asyncio.create_task(asked.work.stop())
    held.let_go.set()
    await stopping
    assert held.told_times == 1
    frames = [asked.answers.get_nowait().WhichOneof("frame") for _ in range(2)]
    assert frames == ["handler_result", "teardown_complete"]


async def test_an_invocation_that_its_abort_has_overtaken_does_not_start() -> None:
    asked, first, second = Asked(), Held(), Held()
    asked.abort(b"1")
    asked.handler(first, b"1")
    asked.handler(second, b"2")
    await second.started.wait()
    assert not first.started.is_set()
    await asked.work.stop()
    assert asked.answers.empty()


async def test_an_invocation_that_never_starts_has_torn_down() -> None:
    asked = Asked()
    asked.abort(wait_for_teardown=True)
    assert (await asked.answers.get()).teardown_complete.invocation_token == b"1"


async def test_leaving_waits_for_no_handler_that_will_not_stop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(work_module, "STOP_SECONDS", 0.01)
    asked, held = Asked(), Held(heeds=False)
    asked.handler(held)
    await held.started.wait()
    async with asyncio.timeout(10):
        await asked.work.stop()
    assert held.told.is_set()
    assert not held.ended.is_set()
    assert "1 handlers or hooks did not stop" in caplog.text
    held.let_go.set()
    await held.ended.wait()
