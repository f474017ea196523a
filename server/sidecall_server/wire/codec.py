"""The wire form of the stream: what the runtime's `FrameCodec` asks for."""

from __future__ import annotations

from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.wire.client_frames import ClientFrames
from sidecall_server.wire.envelope import open_envelope, seal_envelope
from sidecall_server.wire.server_frames import ServerFrames


class ProtobufCodec:
    """Frames and messages as protobuf; what each function does stands with `FrameCodec`."""

    def __init__(
        self, limits: RuntimeLimits, instance_id: str, default_options: SessionOptions
    ) -> None:
        client_frames = ClientFrames(default_options)
        self.encode = ServerFrames(limits, instance_id).write
        self.decode = client_frames.read
        self.call_of = client_frames.call_of
        self.seal = seal_envelope
        self.open = open_envelope
