"""One stream between an agent and its session: handshake, sequence, heartbeats, end.

`put` takes a message and never waits; `serve` handles it and writes what it led to. What is
wrong with a frame is answered by a FrameError and touches nothing else; what is wrong with the
stream ends it with a DomainError, which `serve` raises.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sidecall_server.domain.errors import (
    DomainError,
    FailedPrecondition,
    InvalidArgument,
    Reason,
    ResourceExhausted,
)
from sidecall_server.domain.frames import (
    CallReference,
    CancelCalls,
    CancelResult,
    Chunk,
    ClientFrame,
    Detach,
    DispatchCall,
    EndTurn,
    Envelope,
    FrameError,
    HandlerResult,
    Heartbeat,
    Hello,
    HookVerdict,
    RegisterCell,
    ResumeOutcome,
    TeardownComplete,
    UpdateTools,
    Welcome,
)
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.runtime.outbox import MAX_BACKLOG, FrameCodec, nobody
from sidecall_server.runtime.resume import resend_after_gap
from sidecall_server.runtime.session import Session

if TYPE_CHECKING:
    from sidecall_server.runtime.sessions import Sessions

log = logging.getLogger(__name__)

PROTOCOL_VERSIONS = (1,)

MAX_FRAMES_PER_MESSAGE = 4096
"""Frames that may come together: other agents wait while they are read."""

MAX_GATHERED_FRAMES = 64
"""Frames that are handled before what they led to is written, and before other agents get their
turn; one message may go beyond it."""

MAX_INBOX_MESSAGES = 16
MAX_INBOX_BYTES = 1 << 20
"""What lies untaken beside a write that does not end; one message may go beyond it."""

MAX_INBOX_SECONDS = 0.01
"""How long it lies there, at most."""

ACKNOWLEDGE_AFTER = 16
"""Messages read before they are acknowledged, where nothing else is to be said."""


class Connection:
    """One attachment, from Hello to its end."""

    def __init__(
        self,
        sessions: Sessions,
        owner: str,
        codec: FrameCodec,
        *,
        abandon: Callable[[], object],
        gather_turns: int,
    ) -> None:
        """`abandon` breaks off a write that the other side will not take. `gather_turns`: turns
        of the event loop in which a message that lies ready comes to `put`."""
        self._sessions = sessions
        self._owner = owner
        self._codec = codec
        self._abandon = abandon
        self._gather_turns = gather_turns
        self._loop = asyncio.get_running_loop()
        self._look_again = False
        """Whether there may be something to write that `serve` has not seen."""
        self._sleeping: asyncio.Future[None] | None = None
        """Done once `serve` has something to do."""
        self._room = asyncio.Event()
        self._room.set()
        self._session: Session | None = None
        self._inbox: deque[bytes] = deque()
        """Messages that were read and not taken yet."""
        self._inbox_bytes = 0
        self._overdue: asyncio.TimerHandle | None = None
        self._unnumbered: list[bytes] = []
        """Ready messages outside the sequence: Welcome, errors about unnumbered messages."""
        self._replay: list[bytes] = []
        self._unacknowledged = 0
        self._hung_up = False
        self._finished = False
        self._error: DomainError | None = None
        self._last_heard = self._last_said = self._loop.time()
        self._writing_since: float | None = None
        self._timer = self._loop.call_later(self._tick_seconds(), self._tick)

    # --- reading ----------------------------------------------------------------------

    def put(self, message: bytes) -> None:
        """Take one message from the agent, soon.

        `serve` does, while the next one is being read, and writes what several of them led to
        together. A write that the agent does not take holds up nothing that it says.
        """
        self._inbox.append(message)
        self._inbox_bytes += len(message)
        self._rouse()
        if self._writing_since is None:
            return
        if len(self._inbox) > MAX_INBOX_MESSAGES or self._inbox_bytes > MAX_INBOX_BYTES:
            self._take_beside_write()
        elif self._overdue is None:
            self._overdue = self._loop.call_later(MAX_INBOX_SECONDS, self._take_overdue)

    async def ready_to_read(self) -> None:
        """Wait while too much waits to be written: an agent that does not read is not read.

        A call that is alone is answered before anything else is read.
        """
        if self._alone:
            await asyncio.sleep(0)
        if self._full:
            self._room.clear()
            await self._room.wait()

    def hung_up(self) -> None:
        """The agent sends nothing more; what it sent is taken, then the stream ends."""
        self._hung_up = True
        self.wake()

    def closed(self) -> None:
        """The stream is gone; without Detach that is a lost connection.

        What was read and not taken is lost with it: an agent that comes back sends it again.
        """
        self._timer.cancel()
        if self._overdue is not None:
            self._overdue.cancel()
        self._inbox.clear()
        self._finished = True
        if self._session is not None:
            self._session.connection_lost(self)
        self.wake()

    # --- writing ----------------------------------------------------------------------

    async def serve(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write what there is to say, as it comes. Ends after Detach.

        Raises:
            DomainError: why the stream has to end.
        """
        while True:
            if self._inbox:
                handled = self._take_next()
                if self._inbox or not self._alone:
                    await self._gather(handled)
            elif self._hung_up:
                self.end(None)
            self._look_again = False
            for message in self._ready():
                self._last_said = self._writing_since = self._loop.time()
                await write(message)
            self._writing_since = None
            if self._look_again or self._inbox:
                continue
            if self._error is not None:
                raise self._error
            if self._finished:
                return
            self._sleeping = self._loop.create_future()
            await self._sleeping

    def wake(self) -> None:
        """There is something to write, or the connection has ended."""
        self._look_again = True
        self._rouse()

    def _rouse(self) -> None:
        """Let `serve` look at its inbox, and at what there is to write."""
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def end(self, error: DomainError | None) -> None:
        """Write what waits, then end the stream: well, or with the error."""
        if not self._finished:
            self._finished = True
            self._error = error
            self.wake()
        self._room.set()

    # --- details ----------------------------------------------------------------------

    @property
    def _full(self) -> bool:
        """Whether so much waits to be written that nothing more is read or taken."""
        session = self._session
        waits_too_much = session is not None and session.outbox.full
        return waits_too_much or len(self._unnumbered) > MAX_BACKLOG

    def _take_next(self) -> int:
        """Take the next message; returns how many frames were in it, 1 where it has none."""
        message = self._inbox.popleft()
        self._inbox_bytes -= len(message)
        return self._receive(message)

    def _take_beside_write(self) -> bool:
        """Take one message while a write does not end, if there is room for what it leads to."""
        if self._writing_since is None or not self._inbox or self._full:
            return False
        self._take_next()
        return True

    def _take_overdue(self) -> None:
        """Once in `MAX_INBOX_SECONDS` at most, whoever took what came meanwhile."""
        self._overdue = None
        if self._take_beside_write():
            self._overdue = self._loop.call_later(0, self._take_overdue)

    @property
    def _alone(self) -> bool:
        """Whether there is nothing to be gathered: a call that is alone waits for no other."""
        return self._session is None or len(self._session.open_calls) < 2

    async def _gather(self, handled: int) -> None:
        """Take what came and what lies ready to be read; `handled` frames are."""
        turns = self._gather_turns
        while handled < MAX_GATHERED_FRAMES:
            if self._inbox:
                handled += self._take_next()
                turns = self._gather_turns
            elif turns and not self._alone:
                turns -= 1
                await asyncio.sleep(0)
            else:
                return
        await asyncio.sleep(0)

    def _receive(self, message: bytes) -> int:
        """Handle a message; until the agent is welcome, none is a sign of life."""
        if self._finished:
            return 1
        if self._session is not None:
            self._last_heard = self._loop.time()
        try:
            envelope = self._codec.open(message)
        except DomainError as error:
            self._refuse(0, None, error)
            return 1
        if self._session is None:
            self._handshake(envelope, len(message))
        else:
            self._take(self._session, envelope, len(message))
        return max(1, len(envelope.frames))

    def _ready(self) -> list[bytes]:
        """One round of messages: few enough that new control frames soon get their turn."""
        session = self._session
        ready, self._unnumbered = self._unnumbered, []
        if session is None or session.connection is not self:
            self._room.set()
            return ready
        if self._replay:
            ready += self._replay
            self._replay = []
        numbered = session.outbox.next_message(session.last_sequence_received)
        if numbered is not None:
            ready.append(numbered[1])
            self._unacknowledged = 0
            self._look_again = self._look_again or session.outbox.backlog > 0
        if not self._room.is_set() and session.outbox.has_room:
            self._room.set()
        return ready

    def _handshake(self, envelope: Envelope, size_bytes: int) -> None:
        try:
            if size_bytes > self._sessions.limits.max_message_bytes:
                raise message_too_large(size_bytes, self._sessions.limits)
            hello = self._codec.decode(envelope.frames[0]) if envelope.frames else None
            if not isinstance(hello, Hello):
                raise FailedPrecondition(
                    "the first frame of a stream must be Hello", reason=Reason.HELLO_REQUIRED
                )
            self._attach(hello)
        except DomainError as error:
            self.end(error)
            return
        rest = Envelope(envelope.sequence, envelope.acknowledged, envelope.frames[1:])
        if rest.frames and self._session is not None:
            self._take(self._session, rest, size_bytes, first_index=1)

    def _attach(self, hello: Hello) -> None:
        version = max(set(hello.protocol_versions) & set(PROTOCOL_VERSIONS), default=None)
        if version is None:
            raise FailedPrecondition(
                f"this server speaks the protocol versions {list(PROTOCOL_VERSIONS)}, the client"
                f" {sorted(hello.protocol_versions)}",
                reason=Reason.PROTOCOL_VERSION_UNSUPPORTED,
            )
        session = self._sessions.attachable(hello, self._owner)
        try:
            session.outbox.require_sent(hello.last_sequence_received)
            session.declare(hello.tools, hello.hooks)
        except DomainError:
            if not hello.session_id:
                self._sessions.delete(session.id, self._owner)
            raise
        before, session.connection = session.connection, None
        session.outbox.wake = nobody
        if before is not None:
            before.end(
                FailedPrecondition(
                    "another attachment took the session over", reason=Reason.TAKEN_OVER
                )
            )
        outcome, self._replay = session.outbox.resume(hello.last_sequence_received)
        if not session.was_attached:
            outcome = ResumeOutcome.NEW
        elif outcome is ResumeOutcome.GAP:
            resend_after_gap(session)
        welcome = Welcome(
            version,
            session.id,
            session.resume_token,
            outcome,
            session.last_sequence_received,
            session.outbox.last_sequence + 1,
            session.options.effective_tool_mode(),
        )
        self._unnumbered.append(
            self._codec.seal(
                Envelope(0, session.last_sequence_received, [self._codec.encode(welcome)])
            )
        )
        self._session = session
        self._last_heard = self._loop.time()
        session.attached(self)
        self.wake()

    def _take(
        self, session: Session, envelope: Envelope, size_bytes: int, first_index: int = 0
    ) -> None:
        try:
            session.outbox.acknowledge(envelope.acknowledged)
        except DomainError as error:
            self._refuse(envelope.sequence, None, error)
            return
        if envelope.sequence and not self._next_in_sequence(session, envelope):
            return
        if size_bytes > session.limits.max_message_bytes:
            self._refuse(envelope.sequence, None, message_too_large(size_bytes, session.limits))
            return
        if len(envelope.frames) > MAX_FRAMES_PER_MESSAGE:
            text = f"a message holds at most {MAX_FRAMES_PER_MESSAGE} frames"
            self._refuse(envelope.sequence, None, InvalidArgument.of("frames", text))
            return
        for index, data in enumerate(envelope.frames, first_index):
            try:
                frame = self._codec.decode(data)
                if isinstance(frame, Chunk):
                    whole = session.transfers.add(frame)
                    if whole is None:
                        continue
                    data = whole
                    frame = self._codec.decode(data)
                self._handle(session, frame, numbered=envelope.sequence > 0)
            except DomainError as error:
                self._refuse(envelope.sequence, index, error, self._codec.call_of(data))
            except Exception:
                reference = secrets.token_hex(4)
                log.exception("frame failed", extra={"reference": reference})
                self._refuse(
                    envelope.sequence,
                    index,
                    DomainError(
                        f"the server failed on this frame; its log has the reference {reference}",
                        reason=Reason.INTERNAL,
                    ),
                    self._codec.call_of(data),
                )
            if self._finished:
                return
        session.count_soon()
        if envelope.sequence:
            self._unacknowledged += 1
            if self._unacknowledged >= ACKNOWLEDGE_AFTER and not session.outbox.backlog:
                self._acknowledge(session)

    def _next_in_sequence(self, session: Session, envelope: Envelope) -> bool:
        expected = session.last_sequence_received + 1
        if envelope.sequence == expected:
            session.last_sequence_received = expected
            return True
        if envelope.sequence > expected:
            self._refuse(
                envelope.sequence,
                None,
                InvalidArgument(
                    f"message {envelope.sequence} came where {expected} is next; send the missing"
                    " ones first",
                    reason=Reason.SEQUENCE_OUT_OF_ORDER,
                ),
            )
        return False  # seen before: dropped

    def _acknowledge(self, session: Session) -> None:
        self._unacknowledged = 0
        self._unnumbered.append(self._codec.seal(Envelope(0, session.last_sequence_received, ())))
        self.wake()

    def _handle(self, session: Session, frame: ClientFrame | Chunk, *, numbered: bool) -> None:
        if not numbered and not isinstance(frame, Heartbeat):
            raise InvalidArgument(
                "only connection frames may come in a message without sequence",
                reason=Reason.SEQUENCE_OUT_OF_ORDER,
            )
        handler = _HANDLERS.get(type(frame))
        if handler is not None:
            handler(session, frame)
        elif isinstance(frame, Detach):
            self.end(None)  # first: the end is the agent's own wish
            session.detach(close_session=frame.close_session)
        else:
            raise FailedPrecondition(
                "Hello and pieces of pieces have no place here", reason=Reason.INVALID_FIELD
            )

    def _refuse(
        self,
        sequence: int,
        index: int | None,
        error: DomainError,
        call: CallReference | None = None,
    ) -> None:
        if isinstance(error, ResourceExhausted):
            self._sessions.observer.limit_refused(error.subject)
        violations = error.violations if isinstance(error, InvalidArgument) else ()
        frame = FrameError(sequence, index, error.reason, str(error), violations, call)
        if self._session is not None and sequence:
            self._session.send(frame, control=True)
        else:
            self._unnumbered.append(self._codec.seal(Envelope(0, 0, [self._codec.encode(frame)])))
            self.wake()

    # --- time -------------------------------------------------------------------------

    def _tick_seconds(self) -> float:
        limits = self._sessions.limits
        return min(limits.heartbeat_interval_seconds, limits.heartbeat_timeout_seconds) / 2

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._tick_seconds(), self._tick)
        now = self._loop.time()
        timeout = self._sessions.limits.heartbeat_timeout_seconds
        if self._writing_since is not None and now - self._writing_since > timeout:
            self._abandon()
        elif not self._finished and now - self._last_heard > timeout:
            self.end(
                FailedPrecondition(
                    f"nothing was heard for {timeout:g} s; send heartbeats, then resume",
                    reason=Reason.HEARTBEAT_TIMEOUT,
                )
            )
        elif self._session is not None:
            self._say_alive(self._session, now)

    def _say_alive(self, session: Session, now: float) -> None:
        if now - self._last_said >= self._sessions.limits.heartbeat_interval_seconds / 2:
            heartbeat = self._codec.encode(Heartbeat())
            self._unnumbered.append(
                self._codec.seal(Envelope(0, session.last_sequence_received, [heartbeat]))
            )
            self.wake()


def message_too_large(size_bytes: int, limits: RuntimeLimits) -> ResourceExhausted:
    """A message that the transport let through, but that is above the limit."""
    return ResourceExhausted(
        f"the message has {size_bytes} bytes, max_message_bytes is {limits.max_message_bytes};"
        " send large frames as OutputChunk",
        reason=Reason.MESSAGE_TOO_LARGE,
        subject="max_message_bytes",
    )


# --- what each frame does -------------------------------------------------------------


def _cancel(session: Session, frame: CancelCalls) -> None:
    result = CancelResult(frame.cancel_id, tuple(session.cancel(frame.target)))
    session.require_reader()
    session.send(result, control=True)


def _torn_down(session: Session, frame: TeardownComplete) -> None:
    session.torn_down(frame.invocation_token)


def _register_cell(session: Session, frame: RegisterCell) -> None:
    session.register_cell(frame.cell_id, frame.output_call.call_id, frame.output_call.turn_id)


def _end_turn(session: Session, frame: EndTurn) -> None:
    session.end_turn(frame.turn_id)


def _heartbeat(session: Session, frame: Heartbeat) -> None:
    """Being heard is all there is to it."""


_HANDLERS: dict[type, Callable[[Session, Any], None]] = {
    DispatchCall: Session.dispatch,
    HandlerResult: Session.handler_answered,
    HookVerdict: Session.hook_answered,
    CancelCalls: _cancel,
    TeardownComplete: _torn_down,
    UpdateTools: Session.update_tools,
    RegisterCell: _register_cell,
    EndTurn: _end_turn,
    Heartbeat: _heartbeat,
}
"""All but Hello, Detach and pieces."""
