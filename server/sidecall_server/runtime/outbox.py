"""What a session has to say to its agent: queued, numbered, kept until acknowledged.

Frames wait as values until the writer takes them, so that one that is no longer wanted can
be taken back (S7); outcomes wait as the bytes that they are kept as. Control frames go first;
frames that are ready together travel in one message; a large frame goes in pieces, one per
message, so that it holds up nobody. Numbered messages stay in a byte-bounded ring for a client
that comes back. An agent that does not take what waits is not read (`full`), so that it cannot
make more wait than a bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from sidecall_server.domain.errors import InvalidArgument, Reason
from sidecall_server.domain.frames import (
    AbortHandler,
    CallReference,
    CancelResult,
    Chunk,
    ClientFrame,
    Envelope,
    FrameError,
    InvokeHandler,
    InvokeHook,
    ResumeOutcome,
    ServerFrame,
)

MAX_BACKLOG: Final = 4096
"""Frames that may wait to be written."""

ENTRY_BYTES: Final = 200
"""What a message that is kept takes in memory beside its bytes, roughly."""

Queued: TypeAlias = ServerFrame | bytes
"""A frame that waits; outcomes and answers as the bytes they go out as."""

_INVOCATIONS: Final = (InvokeHandler, InvokeHook)
_SAID_ONCE: Final = (bytes, AbortHandler, CancelResult, FrameError)
"""What nothing else tells: a gap says it anew."""


def nobody() -> None:
    """No connection writes."""


class FrameCodec(Protocol):
    """The wire form of frames and messages; ``wire/codec.py`` is the real one."""

    def encode(self, frame: ServerFrame | Chunk) -> bytes:
        """One frame, or a piece of one as a frame."""

    def decode(self, data: bytes) -> ClientFrame | Chunk:
        """One frame. Raises DomainError for one that cannot be used."""

    def seal(self, envelope: Envelope) -> bytes:
        """A message."""

    def call_of(self, data: bytes) -> CallReference | None:
        """The call that a frame would dispatch, though the rest of it may be unusable."""

    def open(self, data: bytes) -> Envelope:
        """A message. Raises DomainError for one that cannot be read."""


class Outbox:
    """The outgoing side of one session, across its connections.

    `on_written` is told of each invocation whose frame, or whose last piece, goes out;
    `on_change` that `held_bytes` may be another.
    """

    def __init__(
        self,
        codec: FrameCodec,
        *,
        max_replay_bytes: int,
        max_chunk_bytes: int,
        max_waiting_bytes: int,
        memory_is_scarce: Callable[[], bool],
        on_written: Callable[[InvokeHandler | InvokeHook], None],
        on_change: Callable[[], None],
    ) -> None:
        self._codec = codec
        self._max_replay_bytes = max_replay_bytes
        self._max_chunk_bytes = max_chunk_bytes
        self._max_waiting_bytes = max_waiting_bytes
        self._memory_is_scarce = memory_is_scarce
        self._on_written = on_written
        self._on_change = on_change
        self.wake: Callable[[], None] = nobody
        """Told that something waits. The session sets it to the connection that writes."""
        self._control: deque[tuple[bytes, bool]] = deque()
        """Ready frames, and whether each is said only once."""
        self._frames: deque[Queued] = deque()
        self._pieces: deque[_Piece] = deque()
        self._piece_is_next = False
        self._transfers = 0
        self._waiting_bytes = 0
        self._ring: deque[_Message] = deque()
        self._ring_bytes = 0
        self._answers: deque[tuple[int, bytes]] = deque()
        """What was said once in messages that left the ring unacknowledged."""
        self._answer_bytes = 0
        self.last_sequence = 0
        """The highest sequence given to a message."""
        self.acknowledged = 0
        """The highest sequence the client said it has."""

    def send(self, frame: Queued, *, control: bool = False) -> None:
        """Queue a frame, or the bytes of one."""
        if control:
            data = frame if isinstance(frame, bytes) else self._codec.encode(frame)
            if len(data) <= self._max_chunk_bytes:
                self._control.append((data, isinstance(frame, _SAID_ONCE)))
            else:
                self._frames.appendleft(data)
            self._waiting_bytes += len(data)
        else:
            self._frames.append(frame)
            self._waiting_bytes += _held_bytes(frame)
        self._on_change()
        self.wake()

    def withdraw(self, frame: ServerFrame) -> bool:
        """Take back a frame that is not written, or not to its end."""
        self._on_change()
        if any(waiting is frame for waiting in self._frames):
            self._frames = deque(waiting for waiting in self._frames if waiting is not frame)
            return True
        taken = [piece for piece in self._pieces if piece.frame is frame]
        if taken:
            self._pieces = deque(piece for piece in self._pieces if piece.frame is not frame)
            self._waiting_bytes -= sum(len(piece.data) for piece in taken)
        return bool(taken)

    def waits(self, frame: Queued) -> bool:
        """Whether the frame is not written, or not to its end."""
        return any(waiting is frame for waiting in self._frames) or any(
            piece.frame is frame for piece in self._pieces
        )

    @property
    def backlog(self) -> int:
        """Frames and pieces that wait to be written."""
        return len(self._control) + len(self._frames) + len(self._pieces)

    @property
    def held_bytes(self) -> int:
        """Bytes of what waits, and of what may have to be said again."""
        return self._waiting_bytes + self._ring_bytes + self._answer_bytes

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing more should be asked for."""
        return (
            self.backlog > MAX_BACKLOG
            or self._waiting_bytes > self._max_waiting_bytes
            or (self._waiting_bytes > 0 and self._memory_is_scarce())
        )

    @property
    def has_room(self) -> bool:
        """Whether what once was full has emptied enough."""
        return not self.full and (
            self.backlog < MAX_BACKLOG // 2 and self._waiting_bytes <= self._max_waiting_bytes // 2
        )

    def clear(self) -> None:
        """Forget everything: nobody comes back for it."""
        for waiting in (self._control, self._frames, self._pieces, self._ring, self._answers):
            waiting.clear()
        self._waiting_bytes = self._ring_bytes = self._answer_bytes = 0

    def next_message(self, acknowledged: int) -> tuple[int, bytes] | None:
        """The next numbered message; None when nothing waits.

        It holds no more than a chunk, so that its size is bounded: control frames, then other
        frames or a piece of a large one, which take turns where both wait.
        """
        frames: list[bytes] = []
        said_once: list[bytes] = []
        room = self._max_chunk_bytes
        while self._control and (not frames or len(self._control[0][0]) <= room):
            data, is_said_once = self._control.popleft()
            self._waiting_bytes -= len(data)
            frames.append(data)
            room -= len(data)
            if is_said_once:
                said_once.append(data)
        if self._frames and not (self._pieces and self._piece_is_next):
            self._put_frames(room, frames, said_once)
            self._piece_is_next = True
        if self._pieces and not frames:
            self._put_piece(frames, said_once)
            self._piece_is_next = False
        if not frames:
            return None
        self.last_sequence += 1
        self._on_change()
        message = self._codec.seal(Envelope(self.last_sequence, acknowledged, frames))
        self._keep(_Message(self.last_sequence, message, tuple(said_once)))
        return self.last_sequence, message

    def require_sent(self, sequence: int) -> None:
        """Check what a client says it has.

        Raises:
            InvalidArgument: nothing of that number was sent (ACKNOWLEDGEMENT_OUT_OF_RANGE).
        """
        if sequence > self.last_sequence:
            raise InvalidArgument(
                f"acknowledged {sequence}, but only {self.last_sequence} was sent",
                reason=Reason.ACKNOWLEDGEMENT_OUT_OF_RANGE,
            )

    def acknowledge(self, sequence: int) -> None:
        """Forget what the client has.

        Raises:
            InvalidArgument: nothing of that number was sent (ACKNOWLEDGEMENT_OUT_OF_RANGE).
        """
        if sequence <= self.acknowledged:
            return
        self.require_sent(sequence)
        self.acknowledged = sequence
        self._on_change()
        while self._ring and self._ring[0].sequence <= sequence:
            self._ring_bytes -= ENTRY_BYTES + len(self._ring.popleft().data)
        while self._answers and self._answers[0][0] <= sequence:
            self._answer_bytes -= ENTRY_BYTES + len(self._answers.popleft()[1])

    def resume(self, last_received: int) -> tuple[ResumeOutcome, list[bytes]]:
        """What a client that has seen so much has to get again.

        After a gap what was said once waits again, and so does what was written in part.

        Raises:
            InvalidArgument: it claims to have seen what was never sent.
        """
        self.acknowledge(last_received)
        self._on_change()
        first = self._ring[0].sequence if self._ring else self.last_sequence + 1
        if first <= last_received + 1:
            return ResumeOutcome.RESUMED, [message.data for message in self._ring]
        while self._ring:
            self._drop_oldest()
        cut = {id(piece.frame): piece.frame for piece in self._pieces}
        self._waiting_bytes -= sum(len(piece.data) for piece in self._pieces)
        self._pieces.clear()
        again: list[Queued] = [*(data for _, data in self._answers), *cut.values()]
        self._answers.clear()
        self._answer_bytes = 0
        self._waiting_bytes += sum(map(_held_bytes, again))
        self._frames.extendleft(reversed(again))
        return ResumeOutcome.GAP, []

    def _put_frames(self, room: int, frames: list[bytes], said_once: list[bytes]) -> None:
        while self._frames:
            frame = self._frames[0]
            data = frame if isinstance(frame, bytes) else self._codec.encode(frame)
            is_large = len(data) > self._max_chunk_bytes
            if self._pieces if is_large else frames and room < len(data):
                return  # one large frame is in pieces at a time
            self._frames.popleft()
            self._waiting_bytes -= _held_bytes(frame)
            if is_large:
                self._cut(frame, data)
                continue
            frames.append(data)
            room -= len(data)
            self._written(frame, data, said_once)

    def _cut(self, frame: Queued, data: bytes) -> None:
        self._transfers += 1
        view = memoryview(data)
        for start in range(0, len(data), self._max_chunk_bytes):
            piece = bytes(view[start : start + self._max_chunk_bytes])
            chunk = self._codec.encode(Chunk(self._transfers, len(data), piece))
            is_last = start + self._max_chunk_bytes >= len(data)
            self._pieces.append(_Piece(frame, chunk, is_last))
            self._waiting_bytes += len(chunk)

    def _put_piece(self, frames: list[bytes], said_once: list[bytes]) -> None:
        piece = self._pieces.popleft()
        self._waiting_bytes -= len(piece.data)
        frames.append(piece.data)
        if piece.is_last:
            data = piece.frame if isinstance(piece.frame, bytes) else b""
            self._written(piece.frame, data, said_once)

    def _written(self, frame: Queued, data: bytes, said_once: list[bytes]) -> None:
        if isinstance(frame, _INVOCATIONS):
            self._on_written(frame)
        elif isinstance(frame, _SAID_ONCE):
            said_once.append(data)

    def _keep(self, message: _Message) -> None:
        self._ring.append(message)
        self._ring_bytes += ENTRY_BYTES + len(message.data)
        limit = 0 if self._memory_is_scarce() else self._max_replay_bytes
        while self._ring_bytes > limit:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        message = self._ring.popleft()
        self._ring_bytes -= ENTRY_BYTES + len(message.data)
        for data in message.said_once:
            self._answers.append((message.sequence, data))
            self._answer_bytes += ENTRY_BYTES + len(data)
        scarce = self._memory_is_scarce()
        limit = self._max_replay_bytes if scarce else self._max_waiting_bytes
        while self._answer_bytes > limit:
            self._answer_bytes -= ENTRY_BYTES + len(self._answers.popleft()[1])


class _Piece(NamedTuple):
    """A piece of a large frame, ready to go."""

    frame: Queued
    data: bytes
    is_last: bool


class _Message(NamedTuple):
    """A numbered message that may have to be sent again, and what in it is said only once."""

    sequence: int
    data: bytes
    said_once: tuple[bytes, ...]


def _held_bytes(frame: Queued) -> int:
    """What a waiting frame keeps in memory, where it is not counted with its call."""
    return len(frame) if isinstance(frame, bytes) else 0
