"""What the messages of a stream mean: handshake, sequence, acknowledgement, heartbeats, end.

Without input and output: messages go in and come out as bytes, and `runtime/connection.py`
says when. What is wrong with a frame is answered by a FrameError and touches nothing else; what
is wrong with the stream ends it with a DomainError.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

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

PROTOCOL_VERSIONS: Final = (1,)

MAX_FRAMES_PER_MESSAGE: Final = 4096
"""Frames that may come together: other agents wait while they are read."""

ACKNOWLEDGE_AFTER: Final = 16
"""Messages read before they are acknowledged, where nothing else is to be said."""


class StreamProtocol:
    """One attachment of an agent to its session, from Hello to its end.

    `wake` is told that there is something to say, or that the stream has ended; `clock` is
    monotonic, in seconds.
    """

    def __init__(
        self,
        sessions: Sessions,
        owner: str,
        codec: FrameCodec,
        *,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._sessions = sessions
        self._owner = owner
        self._codec = codec
        self.wake = wake
        self._clock = clock
        self._session: Session | None = None
        self._unnumbered: list[bytes] = []
        """Ready messages outside the sequence: Welcome, errors about unnumbered messages."""
        self._replay: list[bytes] = []
        self._unacknowledged = 0
        self._last_heard = self._last_said = clock()
        self.ended = False
        """Whether nothing more is taken, and the stream ends once all is said."""
        self.error: DomainError | None = None
        """Why it ends, where it does not end well."""

    @property
    def full(self) -> bool:
        """Whether so much waits to be said that nothing more is read or taken."""
        session = self._session
        waits_too_much = session is not None and session.outbox.full
        return waits_too_much or len(self._unnumbered) > MAX_BACKLOG

    @property
    def has_room(self) -> bool:
        """Whether what once was full has emptied enough."""
        session = self._session
        return session is None or session.stream is not self or session.outbox.has_room

    @property
    def alone(self) -> bool:
        """Whether no two calls are open: then nothing is gained by taking messages together."""
        return self._session is None or len(self._session.open_calls) < 2

    def receive(self, message: bytes) -> int:
        """Take a message; returns how many frames were in it, 1 where it has none."""
        if self.ended:
            return 1
        if self._session is not None:  # until the agent is welcome, none is a sign of life
            self._last_heard = self._clock()
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

    def next_messages(self) -> list[bytes]:
        """What is to be said now: few messages, so that new control frames soon get their turn.

        Where more waits `wake` is told.
        """
        session = self._session
        ready, self._unnumbered = self._unnumbered, []
        if session is not None and session.stream is self:
            if self._replay:
                ready += self._replay
                self._replay = []
            numbered = session.outbox.next_message(session.last_sequence_received)
            if numbered is not None:
                ready.append(numbered[1])
                self._unacknowledged = 0
                if session.outbox.backlog:
                    self.wake()
        if ready:
            self._last_said = self._clock()
        return ready

    def count_later(self) -> None:
        """What the session holds is counted by `count`, which follows in this turn of the loop."""
        if self._session is not None:
            self._session.count_later()

    def count(self) -> None:
        """Count what the session holds."""
        if self._session is not None:
            self._session.count_bytes()

    def tick(self) -> None:
        """Time has passed: end a stream on which nothing is heard, or say that we are here."""
        now, limits = self._clock(), self._sessions.limits
        timeout = limits.heartbeat_timeout_seconds
        if self.ended:
            return
        if now - self._last_heard > timeout:
            self.end(
                FailedPrecondition(
                    f"nothing was heard for {timeout:g} s; send heartbeats, then resume",
                    reason=Reason.HEARTBEAT_TIMEOUT,
                )
            )
        elif self._session is not None:
            self._say_alive(self._session, now)

    def end(self, error: DomainError | None) -> None:
        """Say what waits, then end the stream: well, or with the error."""
        if not self.ended:
            self.ended = True
            self.error = error
        self.wake()

    def lost(self) -> None:
        """The stream is gone; without Detach that is a lost connection."""
        self.ended = True
        if self._session is not None:
            self._session.connection_lost(self)
        self.wake()

    # --- details ----------------------------------------------------------------------

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
        before, session.stream = session.stream, None
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
        self._last_heard = self._clock()
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
            if self.ended:
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
