"""The agent's side of a session's stream, across its connections: sans-io.

Counts, acknowledges, batches and chunks what goes out; drops what was seen, and puts pieces
together, of what comes in. Owns no socket and no clock.
"""

from __future__ import annotations

from collections import deque

from sidecall.v1 import runtime_stream_pb2 as pb

ACKNOWLEDGE_AFTER_MESSAGES = 64
"""Messages read before they are acknowledged, where nothing else is to be said."""

ACKNOWLEDGE_AFTER_BYTES = 1 << 20
"""Likewise, by their size: the server keeps them until then."""


class Link:
    """One session's stream."""

    def __init__(self) -> None:
        self.last_sequence = 0
        """The highest sequence given to a message."""
        self.last_received = 0
        """The highest sequence seen from the server."""
        self._frames: deque[pb.ClientFrame] = deque()
        self._pieces: deque[pb.ClientFrame] = deque()
        self._unacknowledged: deque[pb.ConnectRequest] = deque()
        self._again: deque[pb.ConnectRequest] = deque()
        self._transfers = 0
        self._incoming: dict[int, bytearray] = {}
        self._unsaid_messages = 0
        self._unsaid_bytes = 0
        self._max_chunk_bytes = 0
        self._max_message_bytes = 0

    # --- out --------------------------------------------------------------------------

    def send(self, frame: pb.ClientFrame) -> None:
        """Queue a frame; it goes out with `next_message`, and again if it gets lost."""
        self._frames.append(frame)

    def next_message(self) -> pb.ConnectRequest | None:
        """The next message to write: frames that wait, or an acknowledgement that is due."""
        if self._again:
            message = self._again.popleft()
            message.acknowledged = self.last_received
            return message
        message = pb.ConnectRequest()
        room = self._max_message_bytes
        while self._frames:
            size = self._frames[0].ByteSize() + _FRAME_OVERHEAD_BYTES
            if size > self._max_chunk_bytes:
                self._cut(self._frames.popleft().SerializeToString())
            elif size <= room:
                message.frames.append(self._frames.popleft())
                room -= size
            else:
                break
        if self._pieces and (room > self._max_chunk_bytes or not message.frames):
            message.frames.append(self._pieces.popleft())
        if message.frames:
            self.last_sequence += 1
            message.sequence = self.last_sequence
            self._unacknowledged.append(message)
        elif not self._acknowledgement_due:
            return None
        message.acknowledged = self.last_received
        self._unsaid_messages = self._unsaid_bytes = 0
        return message

    def heartbeat(self) -> pb.ConnectRequest:
        """A message that only says: I am here."""
        self._unsaid_messages = self._unsaid_bytes = 0
        return pb.ConnectRequest(
            acknowledged=self.last_received,
            frames=[pb.ClientFrame(heartbeat=pb.Heartbeat())],
        )

    @property
    def unacknowledged(self) -> int:
        """Messages that the server has not acknowledged, and frames that still wait."""
        return len(self._unacknowledged) + len(self._frames) + len(self._pieces)

    # --- in ---------------------------------------------------------------------------

    def welcomed(self, welcome: pb.Welcome) -> None:
        """A connection begins: send again what the server has not seen."""
        self._max_chunk_bytes = welcome.max_chunk_bytes
        self._max_message_bytes = welcome.max_message_bytes - _MESSAGE_OVERHEAD_BYTES
        self._acknowledge(welcome.last_sequence_received)
        self._again = deque(self._unacknowledged)
        if welcome.resume_outcome == pb.RESUME_OUTCOME_GAP:
            self.last_received = welcome.next_sequence - 1
            self._incoming.clear()

    def receive(self, message: pb.ConnectResponse) -> list[pb.ServerFrame]:
        """The frames of a message that is new; none of one that was seen."""
        self._acknowledge(message.acknowledged)
        if message.sequence:
            if message.sequence <= self.last_received:
                return []
            self.last_received = message.sequence
            self._unsaid_messages += 1
            self._unsaid_bytes += message.ByteSize()
        frames = []
        for frame in message.frames:
            if frame.WhichOneof("frame") != "output_chunk":
                frames.append(frame)
            elif (whole := self._put_together(frame.output_chunk)) is not None:
                frames.append(whole)
        return frames

    # --- details ----------------------------------------------------------------------

    @property
    def _acknowledgement_due(self) -> bool:
        return (
            self._unsaid_messages >= ACKNOWLEDGE_AFTER_MESSAGES
            or self._unsaid_bytes >= ACKNOWLEDGE_AFTER_BYTES
        )

    def _cut(self, data: bytes) -> None:
        self._transfers += 1
        for start in range(0, len(data), self._max_chunk_bytes):
            piece = pb.OutputChunk(
                transfer_id=self._transfers,
                size_bytes=len(data),
                data=data[start : start + self._max_chunk_bytes],
            )
            self._pieces.append(pb.ClientFrame(output_chunk=piece))

    def _put_together(self, chunk: pb.OutputChunk) -> pb.ServerFrame | None:
        parts = self._incoming.setdefault(chunk.transfer_id, bytearray())
        parts += chunk.data
        if len(parts) < chunk.size_bytes:
            return None
        del self._incoming[chunk.transfer_id]
        return pb.ServerFrame.FromString(bytes(parts))

    def _acknowledge(self, sequence: int) -> None:
        while self._unacknowledged and self._unacknowledged[0].sequence <= sequence:
            self._unacknowledged.popleft()


_FRAME_OVERHEAD_BYTES = 8
_MESSAGE_OVERHEAD_BYTES = 64
