"""The wire form of the stream: what the runtime's `FrameCodec` asks for."""

from __future__ import annotations

from sidecall_server.domain.frames import CallReference, Chunk, ClientFrame, Envelope, ServerFrame
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.wire.client_frames import ClientFrames
from sidecall_server.wire.envelope import open_envelope, seal_envelope
from sidecall_server.wire.server_frames import ServerFrames


class ProtobufCodec:
    """Frames and messages as protobuf."""

    def __init__(
        self, limits: RuntimeLimits, instance_id: str, default_options: SessionOptions
    ) -> None:
        self._server_frames = ServerFrames(limits, instance_id)
        self._client_frames = ClientFrames(default_options)

    def encode(self, frame: ServerFrame | Chunk) -> bytes:
        """One frame of the server, or a piece of one as a frame."""
        return self._server_frames.write(frame)

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
