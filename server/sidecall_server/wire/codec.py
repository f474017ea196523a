"""The wire form of the stream: what the runtime's `FrameCodec` asks for."""

from __future__ import annotations

from sidecall_server.domain.frames import CallReference, Chunk, ClientFrame, Envelope, ServerFrame
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.wire.client_frames import ClientFrames
from sidecall_server.wire.envelope import open_envelope, seal_envelope
from sidecall_server.wire.server_frames import ServerFrames, write_chunk


class ProtobufCodec:
    """Frames and messages as protobuf."""

    def __init__(
        self, limits: RuntimeLimits, instance_id: str, default_options: SessionOptions
    ) -> None:
        self._server_frames = ServerFrames(limits, instance_id)
        self._client_frames = ClientFrames(default_options)

    def encode(self, frame: ServerFrame) -> bytes:
        """One frame of the server."""
        return self._server_frames.write(frame).SerializeToString()

    def encode_chunk(self, chunk: Chunk) -> bytes:
        """One piece of a frame, as a frame."""
        return write_chunk(chunk).SerializeToString()

    def decode(self, data: bytes) -> ClientFrame | Chunk:
        """One frame of an agent. Raises InvalidArgument for one that cannot be used."""
        return self._client_frames.read(data)

    def call_of(self, data: bytes) -> CallReference | None:
        """The call that a frame would dispatch, though the rest of it may be unusable."""
        return self._client_frames.call_of(data)

    def seal(self, envelope: Envelope) -> bytes:
        """A message."""
        return seal_envelope(envelope)

    def open(self, data: bytes) -> Envelope:
        """A message. Raises InvalidArgument for bytes that are none."""
        return open_envelope(data)
