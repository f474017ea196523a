"""The wire form of the stream: what the runtime's `FrameCodec` asks for."""

from __future__ import annotations

from sidecall_server.domain.frames import Chunk, ClientFrame, Envelope, ServerFrame
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.wire.client_frames import read_client_frame
from sidecall_server.wire.envelope import open_envelope, seal_envelope
from sidecall_server.wire.server_frames import ServerFrames, write_chunk


class ProtobufCodec:
    """Frames and messages as protobuf."""

    def __init__(self, limits: RuntimeLimits, instance_id: str) -> None:
        self._frames = ServerFrames(limits, instance_id)

    def encode(self, frame: ServerFrame) -> bytes:
        """One frame of the server."""
        return self._frames.write(frame).SerializeToString()

    def encode_chunk(self, chunk: Chunk) -> bytes:
        """One piece of a frame, as a frame."""
        return write_chunk(chunk).SerializeToString()

    def decode(self, data: bytes) -> ClientFrame | Chunk:
        """One frame of an agent. Raises InvalidArgument for one that cannot be used."""
        return read_client_frame(data)

    def seal(self, envelope: Envelope) -> bytes:
        """A message."""
        return seal_envelope(envelope)

    def open(self, data: bytes) -> Envelope:
        """A message. Raises InvalidArgument for bytes that are none."""
        return open_envelope(data)
