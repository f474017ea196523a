"""The agent's side of a chaotic stream: handlers and hooks that do what their plan says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.chaos.accounts import Accounts, Reference
from tests.chaos.plan import Verdict, Work
from tests.runtime_wire import frames
from tests.runtime_wire.peer import StreamPeer

HEARTBEAT_SECONDS = 0.4
MUCH_BYTES = 600_000
STALE_TOKENS = 64


class ChaosPeer(StreamPeer):
    """Answers by plan, and keeps no more of what it read than its accounts."""

    def __init__(self, channel: grpc.aio.Channel, accounts: Accounts, chunk_bytes: int) -> None:
        super().__init__(channel)
        self.accounts = accounts
        self.tokens: list[bytes] = []
        """Tokens of invocations, for forgeries."""
        self.cancel_results = 0
        self._chunk_bytes = chunk_bytes
        self._transfers = 0
        self._asked: set[bytes] = set()
        self._plans: dict[bytes, Reference] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._heart: asyncio.Task[None] | None = None

    async def attach(self, **hello: Any) -> pb.Welcome:
        """Say Hello, then say now and then that one is there."""
        self.frames.clear()
        welcome = await super().attach(**hello)
        if self._heart is None:
            self._heart = asyncio.create_task(self._beat())
        return welcome

    async def send_large(
        self, frame: pb.ClientFrame, about_to_send: Callable[[int], None] = lambda _: None
    ) -> None:
        """A frame, in pieces if it is large; tells the sequence of the message that ends it."""
        if frame.ByteSize() > self._chunk_bytes:
            self._transfers += 1
            *pieces, frame = frames.chunks(self._transfers, frame, self._chunk_bytes)
            for piece in pieces:
                await self.send(piece)
        about_to_send(self.next_sequence)
        await self.send(frame)

    @property
    def next_sequence(self) -> int:
        """The sequence of the next message."""
        return self.sequence + 1

    def silence(self) -> None:
        """Neither read nor write any more."""
        self.reading.clear()
        for task in self._tasks:
            task.cancel()
        if self._heart is not None:
            self._heart.cancel()
            self._heart = None

    async def close(self) -> None:
        """Stop everything and leave the stream."""
        if self._heart is not None:
            self._heart.cancel()
            self._heart = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.lose()

    def take(self, frame: pb.ServerFrame) -> None:
        """Act on a frame."""
        match frame.WhichOneof("frame"):
            case "welcome":
                self.frames.append(frame)
                if frame.welcome.resume_outcome == pb.RESUME_OUTCOME_GAP:
                    self.accounts.ledger.evil["gap"] += 1
                    self.accounts.gap()
            case "call_completed":
                self.accounts.completed(frame.call_completed)
            case "frame_error":
                self.accounts.refused(frame.frame_error)
            case "cancel_result":
                self.cancel_results += 1
            case "invoke_handler":
                self._invoked(frame.invoke_handler)
            case "invoke_hook":
                self._asked_hook(frame.invoke_hook)
            case "abort_handler":
                self._aborted(frame.abort_handler)

    # --- details ----------------------------------------------------------------------

    def _invoked(self, frame: pb.InvokeHandler) -> None:
        token = frame.invocation_token
        reference = Reference(frame.call.turn_id, frame.call.call_id)
        account = self.accounts.calls.get(reference)
        if account is None:
            self._broke(f"{reference} was invoked and never dispatched")
            return
        if token in self._asked:
            if not self.accounts.gaps:
                self._broke(f"{reference} was invoked twice with one token")
            return
        if reference in self._plans.values():
            self._broke(f"{reference} was invoked twice")
        self._asked.add(token)
        self._plans[token] = reference
        self.tokens.append(token)
        plan = account.plan
        self._start(self._work(token, plan.work, plan.delay_seconds))

    async def _work(self, token: bytes, work: Work, delay_seconds: float) -> None:
        await asyncio.sleep(delay_seconds)
        result = pb.HandlerResult(invocation_token=token)
        match work:
            case Work.NEVER:
                return
            case Work.FAIL:
                result.respond_to_model.message = b"try again \xff"
            case Work.FATAL:
                result.fatal.message = b"no more"
            case Work.BREAK:
                result.unhandled_error.message = b"oops"
            case Work.RETURN_MUCH:
                result.output.CopyFrom(frames.text_output(b"x" * MUCH_BYTES))
            case _:
                result.output.CopyFrom(frames.text_output())
        frame = pb.ClientFrame(handler_result=result)
        if work is Work.MISFIT:
            bad = pb.HandlerResult(invocation_token=token)
            bad.output.json.value_json = b"{"
            self.accounts.forgery(self.next_sequence)
            await self.send(pb.ClientFrame(handler_result=bad))
        await self.send_large(frame)
        if work is Work.TWICE:
            await self.send_large(frame)

    def _asked_hook(self, frame: pb.InvokeHook) -> None:
        token = frame.hook_token
        reference = Reference(frame.call.turn_id, frame.call.call_id)
        account = self.accounts.calls.get(reference)
        if account is None:
            self._broke(f"a hook was asked about {reference}, which was never dispatched")
            return
        if token not in self._asked:
            self._asked.add(token)
            plan = account.plan
            self._start(self._judge(token, plan.verdict, plan.delay_seconds))

    async def _judge(self, token: bytes, verdict: Verdict, delay_seconds: float) -> None:
        await asyncio.sleep(delay_seconds)
        answer = pb.HookVerdict(hook_token=token, additional_contexts=[b"context \xff"])
        match verdict:
            case Verdict.NEVER:
                return
            case Verdict.REWRITE:
                answer.rewrite.input_json = b'{"rewritten":1e400}'
            case Verdict.BAD_REWRITE:
                answer.rewrite.input_json = b"{"
            case Verdict.BLOCK:
                answer.block.reason = b"not this"
            case Verdict.FEEDBACK:
                answer.feedback.message = b"seen"
            case Verdict.FAILED:
                answer.failed.message = b"hooks broke"
            case _:
                answer.proceed.SetInParent()
        frame = pb.ClientFrame(hook_verdict=answer)
        await self.send(frame)
        if verdict is Verdict.TWICE:
            await self.send(frame)

    def _aborted(self, frame: pb.AbortHandler) -> None:
        reference = Reference(frame.call.turn_id, frame.call.call_id)
        account = self.accounts.calls.get(reference)
        if frame.wait_for_teardown and account is not None and account.plan.tears_down:
            complete = pb.TeardownComplete(invocation_token=frame.token)
            self._start(self._send_later(pb.ClientFrame(teardown_complete=complete)))

    async def _send_later(self, frame: pb.ClientFrame) -> None:
        await self.send(frame)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if self.attached:
                await self.write_message(0, frames.HEARTBEAT)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _broke(self, what: str) -> None:
        self.accounts.broke("broken", what)
