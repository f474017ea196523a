"""The handlers and hooks that run now: started, cancelled, and their answers sent."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from sidecall.client import messages, values
from sidecall.client.declarations import hook_failed_message, verdict_message
from sidecall.client.errors import SidecallError
from sidecall.client.link import Place
from sidecall.client.tools import FatalError, Hook, HookInput, Invocation, RespondToModelError, Tool
from sidecall.client.verdicts import ask
from sidecall.v1 import runtime_stream_pb2 as pb

log = logging.getLogger(__name__)

UnhandledErrors = Literal["fatal", "respond_to_model"]
"""What an exception that nobody mapped becomes (SPEC G7)."""

STOP_SECONDS = 3.0
"""How long handlers and hooks may take to end when the agent leaves."""

_REMEMBERED_TOKENS = 4096
"""Invocations that are not run (again): a gap makes the server ask again, and what stops a large
invocation may overtake it."""


_Failed: TypeAlias = Callable[[str], pb.ClientFrame]
"""Makes the answer that says why there is no other."""


class Work:
    """Runs what the server asks for; never blocks who reads the stream."""

    def __init__(
        self,
        answer: Callable[[pb.ClientFrame, Place, values.CallReference], None],
        unhandled_errors: UnhandledErrors,
    ) -> None:
        self._answer = answer
        self.max_frame_bytes = 0
        """The largest frame that the server takes."""
        self._unhandled_errors = unhandled_errors
        self._runs: dict[bytes, _Run] = {}
        self._calls: dict[values.CallReference, _CallWork] = {}
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def invoke_handler(
        self, frame: pb.InvokeHandler, tools: Mapping[tuple[str | None, str], Tool]
    ) -> None:
        """Run a handler."""
        call = messages.call_value(frame.call)
        invocation = Invocation(call, frame.rewritten, frame.dispatch_order)
        tool = tools.get((call.namespace, call.name))
        reference = values.CallReference(call.turn_id, call.call_id)
        token = frame.invocation_token
        work = self._handle(token, reference, tool, invocation)
        self._start(token, reference, work, functools.partial(_unhandled, token))

    def invoke_hook(self, frame: pb.InvokeHook, hooks: Sequence[Hook]) -> None:
        """Run the hooks that match."""
        point = messages.enum_name(pb.HookPoint, "HOOK_POINT", frame.point)
        call = messages.reference_value(frame.call)
        asked = HookInput(call, point, messages.hook_value(frame.payload))
        matching = [hook for hook in hooks if hook.point == point and hook.matches(asked.payload)]
        token = frame.hook_token
        work = self._ask(token, matching, asked)
        self._start(token, call, work, functools.partial(_hooks_failed, token))

    def abort(self, frame: pb.AbortHandler) -> None:
        """Cancel a handler or hook; one that has ended already is told to have torn down, one
        that has not begun never will."""
        run = self._runs.get(frame.token)
        if run is not None:
            run.owes_teardown |= frame.wait_for_teardown
            run.tell_to_stop()
            return
        self._remember(frame.token)
        if frame.wait_for_teardown:
            self._torn_down(frame.token, messages.reference_value(frame.call))

    def call_ended(self, call: values.CallReference) -> None:
        """Nobody will ask about the call's answers any more; what still runs for it stops."""
        work = self._calls.pop(call, None)
        for run in work.runs if work is not None else ():
            run.tell_to_stop()

    def refused(self, frame: pb.FrameError, error: SidecallError) -> bool:
        """Answer anew for a handler or hook whose answer was refused, so that its call goes on.
        False: the frame error concerns no answer."""
        concerned = [
            (call, answer)
            for call, work in self._calls.items()
            for answer in work.answers
            if answer.place.covered_by(frame)
        ]
        for call, answer in concerned:
            log.error("an answer for call %r was refused: %s", call.call_id, error)
            self._calls[call].answers.remove(answer)
            self._answer(answer.failed(str(error)), Place(), call)
        return bool(concerned)

    async def stop(self) -> None:
        """Cancel everything and wait until it has ended, but not for ever."""
        runs = list(self._runs.values())
        for run in runs:
            run.tell_to_stop()
        if not runs:
            return
        _, left = await asyncio.wait([run.task for run in runs], timeout=STOP_SECONDS)
        if left:
            text = "%d handlers or hooks did not stop within %g s of their cancellation"
            log.error(text, len(left), STOP_SECONDS)

    # --- details ----------------------------------------------------------------------

    def _start(
        self,
        token: bytes,
        call: values.CallReference,
        work: Coroutine[Any, Any, None],
        failed: _Failed,
    ) -> None:
        if token in self._known or token in self._runs:
            work.close()
            return
        self._remember(token)
        run = _Run(asyncio.create_task(work), failed)
        self._runs[token] = run
        self._calls.setdefault(call, _CallWork()).runs.append(run)
        run.task.add_done_callback(lambda _: self._ended(token, call))

    def _remember(self, token: bytes) -> None:
        self._known[token] = None
        if len(self._known) > _REMEMBERED_TOKENS:
            self._known.popitem(last=False)

    def _ended(self, token: bytes, call: values.CallReference) -> None:
        run = self._runs[token]
        if not run.task.cancelled() and (error := run.task.exception()) is not None:
            log.error("the work for call %r failed", call.call_id, exc_info=error)
            self._say(token, call, run.failed(_text_of(error)))
        del self._runs[token]
        if (work := self._calls.get(call)) is not None and run in work.runs:
            work.runs.remove(run)
        if run.owes_teardown:
            self._torn_down(token, call)

    async def _handle(
        self,
        token: bytes,
        call: values.CallReference,
        tool: Tool | None,
        invocation: Invocation,
    ) -> None:
        result = pb.HandlerResult(invocation_token=token)
        try:
            if tool is None:
                raise RespondToModelError(f"the agent has no handler for {invocation.call.name}")
            output = await tool.handler(invocation)
            if isinstance(output, str):
                output = values.FunctionOutput(output)
            result.output.CopyFrom(messages.output_message(output))
        except RespondToModelError as error:
            result.respond_to_model.message = messages.lossy(_text_of(error))
        except FatalError as error:
            result.fatal.message = messages.lossy(_text_of(error))
        except asyncio.CancelledError:
            if _is_cancelled():
                raise  # the call was cancelled: its outcome is decided elsewhere
            result.unhandled_error.message = b"the handler cancelled itself"
        except Exception as error:
            log.exception("the handler of %s failed", invocation.call.name)
            text = messages.lossy(_text_of(error) or type(error).__name__)
            if self._unhandled_errors == "fatal":
                result.unhandled_error.message = text
            else:
                result.respond_to_model.message = text
        self._say(token, call, pb.ClientFrame(handler_result=result))

    async def _ask(self, token: bytes, hooks: Sequence[Hook], asked: HookInput) -> None:
        message = verdict_message(token, await ask(hooks, asked))
        self._say(token, asked.call, pb.ClientFrame(hook_verdict=message))

    def _say(self, token: bytes, call: values.CallReference, frame: pb.ClientFrame) -> None:
        """Send an answer; in place of one that is too large, one that says so."""
        failed = self._runs[token].failed
        if (size := frame.ByteSize()) > self.max_frame_bytes:
            text = too_large_text(size, self.max_frame_bytes)
            log.error("an answer for call %r is not sent: %s", call.call_id, text)
            frame = failed(text)
        answer = _Answer(Place(), failed)
        if (work := self._calls.get(call)) is not None:
            work.answers.append(answer)
        self._answer(frame, answer.place, call)

    def _torn_down(self, token: bytes, call: values.CallReference) -> None:
        complete = pb.TeardownComplete(invocation_token=token)
        self._answer(pb.ClientFrame(teardown_complete=complete), Place(), call)


@dataclass(slots=True, eq=False)
class _Run:
    """A handler or hook that runs. It is told to stop once: its teardown is not to be disturbed."""

    task: asyncio.Task[None]
    failed: _Failed
    owes_teardown: bool = False
    _told: bool = False

    def tell_to_stop(self) -> None:
        if not self._told:
            self._told = True
            self.task.cancel()


class _Answer(NamedTuple):
    """An answer that the server may still refuse."""

    place: Place
    failed: _Failed


@dataclass(slots=True)
class _CallWork:
    """What was done for a call that has not ended."""

    runs: list[_Run] = field(default_factory=list)
    answers: list[_Answer] = field(default_factory=list)


def too_large_text(size_bytes: int, limit_bytes: int) -> str:
    """What is wrong with a frame that the server would not take."""
    return (
        f"MESSAGE_TOO_LARGE: a frame of {size_bytes} bytes is above the server's limit of"
        f" {limit_bytes}; send less"
    )


def _is_cancelled() -> bool:
    """Whether somebody cancelled the running task, or else it did so by itself."""
    task = asyncio.current_task()
    return task is not None and bool(task.cancelling())


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        log.exception("an error of a handler cannot say what it is")
        return type(error).__name__


def _unhandled(token: bytes, message: str) -> pb.ClientFrame:
    error = pb.UnhandledError(message=messages.lossy(message))
    result = pb.HandlerResult(invocation_token=token, unhandled_error=error)
    return pb.ClientFrame(handler_result=result)


def _hooks_failed(token: bytes, message: str) -> pb.ClientFrame:
    return pb.ClientFrame(hook_verdict=hook_failed_message(token, message))
