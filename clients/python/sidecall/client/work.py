"""The handlers and hooks that run now: started, cancelled, and their answers sent."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

from sidecall.client import messages, values
from sidecall.client.declarations import verdict_message
from sidecall.client.errors import SidecallError
from sidecall.client.link import Place
from sidecall.client.tools import FatalError, Hook, HookInput, Invocation, RespondToModelError, Tool
from sidecall.client.verdicts import ask
from sidecall.v1 import runtime_stream_pb2 as pb

log = logging.getLogger(__name__)

UnhandledErrors = Literal["fatal", "respond_to_model"]
"""What an exception that nobody mapped becomes (SPEC G7)."""

_REMEMBERED_TOKENS = 4096
"""Invocations that are not run again when a gap makes the server ask again."""


class Work:
    """Runs what the server asks for; never blocks who reads the stream."""

    def __init__(
        self,
        answer: Callable[[pb.ClientFrame, Place], None],
        hooks: Sequence[Hook],
        unhandled_errors: UnhandledErrors,
    ) -> None:
        self._answer = answer
        self.hooks = hooks
        self.max_frame_bytes = 0
        """The largest frame that the server takes."""
        self._unhandled_errors = unhandled_errors
        self._results: dict[values.CallReference, tuple[bytes, Place]] = {}
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._asked: OrderedDict[bytes, None] = OrderedDict()
        self._teardowns: set[bytes] = set()

    def invoke_handler(
        self, frame: pb.InvokeHandler, tools: Mapping[tuple[str | None, str], Tool]
    ) -> None:
        """Run a handler."""
        invocation = Invocation(
            messages.call_value(frame.call), frame.rewritten, frame.dispatch_order
        )
        tool = tools.get((invocation.call.namespace, invocation.call.name))
        self._start(frame.invocation_token, self._handle(frame.invocation_token, tool, invocation))

    def invoke_hook(self, frame: pb.InvokeHook) -> None:
        """Run the hooks that match."""
        point = messages.enum_name(pb.HookPoint, "HOOK_POINT", frame.point)
        asked = HookInput(
            messages.reference_value(frame.call), point, messages.hook_value(frame.payload)
        )
        hooks = [hook for hook in self.hooks if hook.point == point and hook.matches(asked.payload)]
        self._start(frame.hook_token, self._ask(frame.hook_token, hooks, asked))

    def abort(self, frame: pb.AbortHandler) -> None:
        """Cancel a handler or hook; one that has ended already is told to have torn down."""
        task = self._tasks.get(frame.token)
        if frame.wait_for_teardown:
            if task is None:
                self._torn_down(frame.token)
                return
            self._teardowns.add(frame.token)
        if task is not None:
            task.cancel()

    def call_ended(self, call: values.CallReference) -> None:
        """Nobody will ask about the call's result any more."""
        self._results.pop(call, None)

    def refused(self, frame: pb.FrameError, error: SidecallError) -> bool:
        """Answer anew for a handler whose result was refused, so that its call ends. False: the
        frame error concerns no result."""
        for call, (token, place) in self._results.items():
            if place.covered_by(frame):
                log.error("the result of call %r was refused: %s", call.call_id, error)
                del self._results[call]
                self._answer(_unhandled(token, str(error)), Place())
                return True
        return False

    async def stop(self) -> None:
        """Cancel everything and wait until it has ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- details ----------------------------------------------------------------------

    def _start(self, token: bytes, work: Coroutine[Any, Any, None]) -> None:
        if token in self._asked:
            work.close()
            return
        self._asked[token] = None
        if len(self._asked) > _REMEMBERED_TOKENS:
            self._asked.popitem(last=False)
        task = asyncio.create_task(work)
        self._tasks[token] = task
        task.add_done_callback(lambda done: self._ended(token, done))

    def _ended(self, token: bytes, task: asyncio.Task[None]) -> None:
        del self._tasks[token]
        if token in self._teardowns:
            self._teardowns.discard(token)
            self._torn_down(token)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a call's task failed", exc_info=error)

    async def _handle(self, token: bytes, tool: Tool | None, invocation: Invocation) -> None:
        result = pb.HandlerResult(invocation_token=token)
        try:
            if tool is None:
                raise RespondToModelError(f"the agent has no handler for {invocation.call.name}")
            output = await tool.handler(invocation)
            if isinstance(output, str):
                output = values.FunctionOutput(output)
            result.output.CopyFrom(messages.output_message(output))
        except RespondToModelError as error:
            result.respond_to_model.message = str(error).encode()
        except FatalError as error:
            result.fatal.message = str(error).encode()
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise  # the call was cancelled: its outcome is decided elsewhere
            result.unhandled_error.message = b"the handler cancelled itself"
        except Exception as error:
            log.exception("the handler of %s failed", invocation.call.name)
            text = (str(error) or type(error).__name__).encode(errors="replace")
            if self._unhandled_errors == "fatal":
                result.unhandled_error.message = text
            else:
                result.respond_to_model.message = text
        call = invocation.call
        self._send_result(values.CallReference(call.turn_id, call.call_id), result)

    def _send_result(self, call: values.CallReference, result: pb.HandlerResult) -> None:
        frame, place = pb.ClientFrame(handler_result=result), Place()
        if (size := frame.ByteSize()) > self.max_frame_bytes:
            frame = _unhandled(result.invocation_token, too_large_text(size, self.max_frame_bytes))
        self._results[call] = (result.invocation_token, place)
        self._answer(frame, place)

    async def _ask(self, token: bytes, hooks: Sequence[Hook], asked: HookInput) -> None:
        verdict = await ask(hooks, asked)
        self._answer(pb.ClientFrame(hook_verdict=verdict_message(token, verdict)), Place())

    def _torn_down(self, token: bytes) -> None:
        complete = pb.TeardownComplete(invocation_token=token)
        self._answer(pb.ClientFrame(teardown_complete=complete), Place())


def too_large_text(size_bytes: int, limit_bytes: int) -> str:
    """What is wrong with a frame that the server would not take."""
    return (
        f"MESSAGE_TOO_LARGE: a frame of {size_bytes} bytes is above the server's limit of"
        f" {limit_bytes}; send less"
    )


def _unhandled(token: bytes, message: str) -> pb.ClientFrame:
    error = pb.UnhandledError(message=message.encode())
    result = pb.HandlerResult(invocation_token=token, unhandled_error=error)
    return pb.ClientFrame(handler_result=result)
