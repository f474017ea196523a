"""An agent on the stream: declares tools, dispatches calls, survives lost connections.

`connect` opens it. One task owns the connection: it says Hello, reads, and reconnects with the
resume token until the server's grace is over. `Link` keeps the sequence, `Work` runs handlers
and hooks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from sidecall.client import messages, values
from sidecall.client.aio import AsyncClient
from sidecall.client.backoff import Backoff
from sidecall.client.calls import Calls
from sidecall.client.cancels import Cancels
from sidecall.client.connection import Connection, StreamEnded
from sidecall.client.declarations import hook_declarations, tool_declarations
from sidecall.client.declared import Change, Declarations, Declared
from sidecall.client.errors import (
    FailedPreconditionError,
    FieldViolation,
    InvalidArgumentError,
    LimitError,
    SessionLostError,
    SidecallError,
    error_for_reason,
)
from sidecall.client.link import Link, Place
from sidecall.client.lost_outcomes import LostOutcomes
from sidecall.client.pending import PendingCall, Turn
from sidecall.client.prompts import LastPrompt
from sidecall.client.tools import Hook, Tool
from sidecall.client.work import UnhandledErrors, Work, too_large_text
from sidecall.endpoint import Endpoint
from sidecall.v1 import (
    errors_pb2,
)
from sidecall.v1 import (
    runtime_stream_pb2 as pb,
)

log = logging.getLogger(__name__)

ResumeOutcome: TypeAlias = Literal["new", "resumed", "gap"]

FINAL_REASONS = frozenset(
    {"SESSION_NOT_FOUND", "SESSION_CLOSED", "RESUME_TOKEN_INVALID", "TAKEN_OVER"}
)
"""Why a stream ended for good."""

_DETACH_SECONDS = 5.0
_GRACE_MARGIN_SECONDS = 5.0


class Agent:
    """A session and its stream. `connect` makes it.

    Attributes:
        session_id: the session.
        effective_tool_mode: the session's tool mode, as the server decided it.
        unary: the unary rpcs, over a channel of their own.
        on_connection: called with ``new``, ``resumed`` or ``gap`` at each connection.
        on_drain: called with the seconds left when the server shuts down.
        on_frame_error: called with what the server refused, where no call waits for it.

    What such a callback raises is logged, and the session goes on.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        tools: Iterable[Tool],
        hooks: Sequence[Hook],
        options: values.SessionOptions | None,
        session_id: str,
        client_name: str,
        unhandled_errors: UnhandledErrors,
    ) -> None:
        self.session_id = session_id
        self.effective_tool_mode: values.ToolMode = "direct"
        self.unary = AsyncClient(endpoint)
        self.on_connection: Callable[[ResumeOutcome], None] | None = None
        self.on_drain: Callable[[float], None] | None = None
        self.on_frame_error: Callable[[SidecallError], None] | None = None
        self._endpoint = endpoint
        self._declared = Declared(tools, hooks)
        self._options = options
        self._client_name = client_name
        self._resume_token = ""
        self._link = Link()
        self._work = Work(self._answer, unhandled_errors)
        self._cancels = Cancels(self._send)
        self._calls = Calls(self._send, lambda call: self._cancels.cancel([call], None))
        self._lost_outcomes = LostOutcomes(
            self.unary, self._link, self._calls, self._cancels.barrier
        )
        self._backoff = Backoff(time.monotonic)
        self._last_prompt = LastPrompt()
        self._connection: Connection | None = None
        self._grace_seconds = 0.0
        self._lost: SessionLostError | None = None
        self._detached = False
        self._loop_task: asyncio.Task[None] | None = None

    # --- calls ------------------------------------------------------------------------

    def dispatch(
        self,
        call: values.ToolCall,
        *,
        views: Sequence[values.View] | None = None,
        timeout_seconds: float | None = None,
        turn_options: values.TurnOptions | None = None,
        traceparent: str = "",
    ) -> PendingCall:
        """Submit a call; it is recorded before anything else happens to it.

        The same call again (turn id, call id, payload) runs nothing: it has the same result.
        Beyond the server's credits (calls and bytes in flight) it waits here, in order.

        Args:
            call: the call; its turn id is required.
            views: the views wanted of the outcome; None: those of the session.
            timeout_seconds: how long it may take in all; None: as its tool says.
            turn_options: what the call's turn says differently from its session.
            traceparent: the W3C trace context of the caller.

        Raises:
            AlreadyExistsError: another call is open under these ids (CALL_ID_CONFLICT).
            LimitError: the call is larger than the server takes (MESSAGE_TOO_LARGE).
            SessionLostError: the session is gone.
            ValueError: the payload is no UTF-8, as it holds a lone surrogate.
        """
        self._require_session()
        pending = PendingCall(self, call)
        if (known := self._calls.known(pending)) is not None:
            return known
        dispatch = pb.DispatchCall(
            call=messages.call_message(call),
            turn_options=messages.turn_options_message(turn_options),
            views=messages.views_message(views),
            timeout=messages.duration(timeout_seconds),
            traceparent=traceparent,
        )
        frame = pb.ClientFrame(dispatch_call=dispatch)
        if (size := frame.ByteSize()) > self._link.max_frame_bytes:
            text = too_large_text(size, self._link.max_frame_bytes)
            raise LimitError(text, reason="MESSAGE_TOO_LARGE")
        self._calls.dispatch(pending, frame)
        return pending

    async def call(
        self,
        call: values.ToolCall,
        *,
        views: Sequence[values.View] | None = None,
        timeout_seconds: float | None = None,
        turn_options: values.TurnOptions | None = None,
        traceparent: str = "",
    ) -> values.CallResult:
        """Dispatch a call and wait for it; cancelling the waiting task cancels the call.

        Raises:
            SidecallError: the call was refused, or the session is lost.
        """
        pending = self.dispatch(
            call,
            views=views,
            timeout_seconds=timeout_seconds,
            turn_options=turn_options,
            traceparent=traceparent,
        )
        try:
            return await pending
        except asyncio.CancelledError:
            if not pending.done() and not self._calls.cancel_waiting([pending.reference], None):
                self._cancels.cancel([pending.reference], None)
            raise

    def turn(self, turn_id: str) -> Turn:
        """A turn, to dispatch calls in and to have their outputs in call order."""
        return Turn(self, turn_id)

    async def cancel(
        self,
        calls: Sequence[values.CallReference] | None = None,
        *,
        turn_id: str | None = None,
    ) -> dict[values.CallReference, values.CancelDisposition]:
        """Cancel calls, a turn's calls, or (with neither) all open calls.

        Raises:
            InvalidArgumentError: an id that no call can have.
            SessionLostError: the session is gone.
        """
        self._require_session()
        here = self._calls.cancel_waiting(calls, turn_id)
        if calls is not None:
            calls = [call for call in calls if call not in here]
        return await self._cancels.cancel(calls, turn_id) | here

    def end_turn(self, turn_id: str) -> asyncio.Future[None]:
        """Say that a turn is over: it takes no new calls, its open ones go on, and those that
        wait here for the server's credits go first.

        Await it to know that the sidecar has it; it raises a `SidecallError` where the sidecar
        refused it.
        """
        self._require_session()
        frame = pb.ClientFrame(end_turn=pb.EndTurn(turn_id=turn_id))
        return self._cancels.notify(frame, when=self._calls.behind)

    # --- recorder ---------------------------------------------------------------------

    async def register_cell(self, cell_id: str, output_call_id: str, turn_id: str = "") -> bool:
        """Say which output carries the records of a cell's calls; False: no room.

        Register `exec` as soon as its cell has started, `wait` after the cell answered.
        """
        return await self.unary.register_cell(self.session_id, cell_id, output_call_id, turn_id)

    async def attach(
        self,
        sampling_request_id: str,
        outputs: Sequence[values.PromptOutput],
        turn_id: str = "",
    ) -> values.Attachment:
        """Attach records to all outputs of a prompt, in order; at each try of each request.

        Everything that was said before counts; calls that wait here for the server's credits are
        sent first. Give all outputs each time: what
        the last prompt began with is not sent again.
        """
        if self._link.unacknowledged or self._calls.some_wait:
            self._require_session()
            await self._cancels.barrier(self._calls.behind)
        base = self._last_prompt.base_of(outputs)
        if base is not None:
            try:
                attachment = await self.unary.attach(
                    self.session_id,
                    sampling_request_id,
                    outputs[base.kept_outputs :],
                    turn_id,
                    base=base,
                )
            except FailedPreconditionError as error:
                if error.reason != "PROMPT_BASE_MISMATCH":
                    raise
                base = None  # somebody else attached in between
        if base is None:
            attachment = await self.unary.attach(
                self.session_id, sampling_request_id, outputs, turn_id
            )
        self._last_prompt.attached(outputs, attachment)
        return attachment

    # --- declarations -----------------------------------------------------------------

    def update_tools(
        self,
        upsert: Iterable[Tool] = (),
        remove: Iterable[Tool | str] = (),
        hooks: Sequence[Hook] | None = None,
    ) -> asyncio.Future[None]:
        """Add, replace and take away tools; `hooks` take the place of those before.

        Await it to know that the sidecar has them; it raises a `SidecallError` where the sidecar
        refused them. Then everything is as it was before.
        """
        self._require_session()
        gone = [(None, tool) if isinstance(tool, str) else tool.key for tool in remove]
        change = Change(list(upsert), gone, hooks)
        frame = change.frame()
        self._declared.change(change)
        return self._cancels.notify(
            frame,
            place=change.place,
            settled=lambda taken: self._declared.settle(change, taken),
        )

    # --- life -------------------------------------------------------------------------

    def drop_connection(self) -> None:
        """Cut the connection as a broken network would; for tests. The agent reconnects."""
        if self._connection is not None:
            self._connection.cut()

    async def detach(self, *, close_session: bool = True) -> None:
        """Leave: open calls are aborted. Without `close_session` the session stays."""
        if self._lost is None and not self._detached:
            self._detached = True
            detach = pb.Detach(close_session=close_session)
            self._send(pb.ClientFrame(detach=detach))
            if self._loop_task is not None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(self._loop_task), _DETACH_SECONDS)
        await self._stop()

    async def open(self) -> None:
        """Connect for the first time.

        Raises:
            SidecallError: the server cannot be reached, or refuses.
        """
        connection = await self._connect()
        self._loop_task = asyncio.create_task(self._run(connection))

    # --- the connection ---------------------------------------------------------------

    async def _connect(self) -> Connection:
        changes: list[Change] = []
        try:
            connection, welcome = await self._say_hello(self._declared.now)
        except (InvalidArgumentError, LimitError):
            if not self._declared.changes:
                raise
            # Not the session is refused, but a change that nobody has answered yet: each of
            # them shall be refused, or taken, by itself.
            changes = list(self._declared.changes)
            connection, welcome = await self._say_hello(self._declared.settled)
        self._connection = connection
        self._welcomed(welcome)
        for change in changes:
            self._send(change.frame(), change.place)
        return connection

    async def _say_hello(self, declared: Declarations) -> tuple[Connection, pb.Welcome]:
        hello = pb.Hello(
            protocol_versions=[1],
            session_id=self.session_id,
            resume_token=self._resume_token,
            last_sequence_received=self._link.last_received,
            options=None
            if self._options is None
            else messages.session_options_message(self._options),
            tools=tool_declarations(declared.tools.values()),
            hooks=hook_declarations(declared.hooks),
            client_name=self._client_name,
        )
        return await Connection.open(self._endpoint, self._link, hello)

    def _welcomed(self, welcome: pb.Welcome) -> None:
        self._backoff.connected()
        self.session_id = welcome.session_id
        self.effective_tool_mode = messages.tool_mode_value(welcome.effective_tool_mode)
        self._resume_token = welcome.resume_token
        self._work.max_frame_bytes = welcome.max_frame_bytes
        self._grace_seconds = messages.seconds(welcome, "resume_grace") or 0.0
        outcome: ResumeOutcome = messages.enum_name(
            pb.ResumeOutcome, "RESUME_OUTCOME", welcome.resume_outcome
        )
        _tell(self.on_connection, outcome)
        if outcome == "gap":
            self._lost_outcomes.gap(self.session_id)
        self._calls.granted(welcome.max_calls_in_flight, welcome.max_bytes_in_flight)

    async def _run(self, connection: Connection) -> None:
        """Read until the end, over as many connections as it takes."""
        try:
            while True:
                error = await self._read(connection)
                if self._detached:
                    return
                again = await self._reconnect(error)
                if again is None:
                    return
                connection = again
        except Exception as error:
            log.exception("the agent's loop failed")
            self._lose(SessionLostError(f"the agent's loop failed: {error}"))

    async def _read(self, connection: Connection) -> SidecallError | None:
        try:
            async for frame in connection.frames():
                self._take(frame)
        except StreamEnded as ended:
            return ended.error
        finally:
            self._connection = None
            await connection.close()
        return None

    async def _reconnect(self, error: SidecallError | None) -> Connection | None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._grace_seconds + _GRACE_MARGIN_SECONDS
        while True:
            if error is not None and error.reason in FINAL_REASONS:
                text = error.message
                if error.reason == "SESSION_NOT_FOUND":
                    text = f"the sidecar was started anew, or gave the session up: {text}"
                self._lose(SessionLostError(text, reason=error.reason))
                return None
            delay = self._backoff.next_delay()
            if loop.time() + delay > deadline:
                break
            await asyncio.sleep(delay)
            try:
                return await self._connect()
            except SidecallError as refused:
                error = refused
        reason = error.reason if error is not None else ""
        text = f"the sidecar did not come back within {self._grace_seconds:g} s"
        self._lose(
            SessionLostError(f"{text}: {error}" if error is not None else text, reason=reason)
        )
        return None

    def _send(self, frame: pb.ClientFrame, place: Place | None = None) -> None:
        self._link.send(frame, place)
        if self._connection is not None:
            self._connection.wake()

    def _answer(self, frame: pb.ClientFrame, place: Place, call: values.CallReference) -> None:
        self._calls.answered(call, frame.ByteSize())
        self._link.answer(frame, place)
        if self._connection is not None:
            self._connection.wake()

    # --- what comes in ----------------------------------------------------------------

    def _take(self, frame: pb.ServerFrame) -> None:
        match frame.WhichOneof("frame"):
            case "call_completed":
                self._completed(frame.call_completed)
            case "invoke_handler":
                self._work.invoke_handler(frame.invoke_handler, self._declared.now.tools)
            case "invoke_hook":
                self._work.invoke_hook(frame.invoke_hook, self._declared.now.hooks)
            case "abort_handler":
                self._work.abort(frame.abort_handler)
            case "cancel_result":
                self._cancels.answered(frame.cancel_result)
            case "frame_error":
                self._refused(frame.frame_error)
            case "drain":
                _tell(self.on_drain, messages.seconds(frame.drain, "time_left") or 0.0)

    def _completed(self, frame: pb.CallCompleted) -> None:
        reference = messages.reference_value(frame.call)
        self._work.call_ended(reference)
        pending = self._calls.ended(reference)
        if pending is not None:
            pending.future.set_result(messages.result_value(frame))

    def _refused(self, frame: pb.FrameError) -> None:
        error = error_for_reason(
            errors_pb2.ErrorReason.Name(frame.reason).removeprefix("ERROR_REASON_"),
            frame.message,
            tuple(
                FieldViolation(violation.field, violation.description)
                for violation in frame.field_violations
            ),
        )
        # A message that is refused as a whole may concern several of them.
        concerned = [one.refused(frame, error) for one in (self._calls, self._work, self._cancels)]
        if any(concerned):
            return
        if self.on_frame_error is not None:
            _tell(self.on_frame_error, error)
        else:
            log.error("the sidecar refused a frame: %s", error)

    # --- details ----------------------------------------------------------------------

    def _require_session(self) -> None:
        if self._lost is not None:
            raise self._lost
        if self._detached:
            raise SessionLostError("the agent has detached", reason="SESSION_CLOSED")

    def _lose(self, error: SessionLostError) -> None:
        """The session is gone: whoever waits gets to know, handlers stop."""
        self._lost = error
        for pending in self._calls.lost():
            pending.future.set_exception(error)
            pending.future.exception()  # nobody has to ask for it
        self._cancels.lost(error)
        self._lost_outcomes.stop()
        self._stopping = asyncio.ensure_future(self._work.stop())

    async def _stop(self) -> None:
        if self._loop_task is not None:
            self._loop_task.cancel()
            await asyncio.gather(self._loop_task, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()
        if self._lost is None:
            self._lose(SessionLostError("the agent has detached", reason="SESSION_CLOSED"))
        await self._stopping
        await self.unary.close()


def _tell(callback: Callable[..., Any] | None, value: object) -> None:
    """Call back who wants to know; what fails there is no reason to lose the session."""
    if callback is None:
        return
    try:
        callback(value)
    except Exception:
        log.exception("a callback failed; the session goes on")


@contextlib.asynccontextmanager
async def connect(
    endpoint: Endpoint | str | None = None,
    *,
    tools: Iterable[Tool] = (),
    hooks: Sequence[Hook] = (),
    options: values.SessionOptions | None = None,
    session_id: str = "",
    client_name: str = "sidecall-python",
    unhandled_errors: UnhandledErrors = "fatal",
    on_connection: Callable[[ResumeOutcome], None] | None = None,
    on_drain: Callable[[float], None] | None = None,
    on_frame_error: Callable[[SidecallError], None] | None = None,
) -> AsyncIterator[Agent]:
    """Open a session and its stream; leaving the block detaches and closes the session.

    Args:
        endpoint: where the sidecar is; None: what `SIDECALL_ENDPOINT` says.
        tools: the agent's tools.
        hooks: the agent's hooks.
        options: the options of a new session.
        session_id: attach to this session, made by `create_session`; empty: a new one.
        client_name: the agent's name, for people.
        unhandled_errors: what an exception becomes that a handler did not map.
        on_connection: see `Agent`.
        on_drain: see `Agent`.
        on_frame_error: see `Agent`.

    Raises:
        SidecallError: the sidecar cannot be reached, or refuses.
    """
    agent = Agent(
        Endpoint.find(endpoint), tools, hooks, options, session_id, client_name, unhandled_errors
    )
    agent.on_connection = on_connection
    agent.on_drain = on_drain
    agent.on_frame_error = on_frame_error
    try:
        await agent.open()
    except BaseException:
        await agent.unary.close()
        raise
    try:
        yield agent
    finally:
        await agent.detach(close_session=True)
