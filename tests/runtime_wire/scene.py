"""The innocent: a call of the same session and one of another, open while evil is done."""

from __future__ import annotations

from typing import Any

import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.runtime_wire import frames
from tests.runtime_wire.peer import StreamPeer

TOOLS = [
    frames.tool("echo", supports_parallel_calls=True),
    frames.tool("shell", cancel_mode=pb.CANCEL_MODE_WAIT_FOR_TEARDOWN),
]


class Scene:
    """`mine` does evil, `other` is another session; each has the call `held`."""

    def __init__(self, channel: grpc.aio.Channel, mine: StreamPeer, other: StreamPeer) -> None:
        self.channel = channel
        self.mine = mine
        self.other = other
        self.sessions: Any = SessionServiceStub(channel)
        self.runtime: Any = RuntimeServiceStub(channel)

    @classmethod
    async def begin(cls, channel: grpc.aio.Channel) -> Scene:
        """Attach both and let their handlers start."""
        scene = cls(channel, StreamPeer(channel), StreamPeer(channel))
        for peer in (scene.mine, scene.other):
            await peer.attach(tools=TOOLS)
            await scene.invoked(peer, "held")
        return scene

    @staticmethod
    async def invoked(peer: StreamPeer, call_id: str, name: str = "echo") -> bytes:
        """Dispatch a call and wait for its invocation; returns the token."""
        await peer.send(frames.dispatch(frames.call(call_id, name)))
        return await Scene.token(peer, call_id)

    @staticmethod
    async def token(peer: StreamPeer, call_id: str) -> bytes:
        """The token of a call's invocation."""
        invocation = await peer.expect(
            "invoke_handler", lambda frame: frame.call.call_id == call_id
        )
        token: bytes = invocation.invocation_token
        return token

    @staticmethod
    async def error(peer: StreamPeer, sequence: int) -> pb.FrameError:
        """The FrameError about a message."""
        found: pb.FrameError = await peer.expect(
            "frame_error", lambda frame: frame.sequence == sequence
        )
        return found

    async def look(self, peer: StreamPeer) -> session_pb.Session:
        """The server's view of a session."""
        assert peer.welcome is not None
        request = session_pb.GetSessionRequest(session_id=peer.welcome.session_id)
        session: session_pb.Session = (await self.sessions.GetSession(request)).session
        return session

    async def unharmed(self) -> None:
        """The calls that were open all the time end, each once, and new ones do, too."""
        for peer in (self.mine, self.other):
            for call_id in ("held", "new"):
                if call_id == "new":
                    await self.invoked(peer, call_id)
                await peer.send(frames.answer(await self.token(peer, call_id)))
                completed = await peer.expect("call_completed", _of(call_id))
                assert completed.outcome.completed.success
            assert len(peer.of("call_completed", _of("held"))) == 1
            assert (await self.look(peer)).open_calls == 0

    async def leave(self) -> None:
        """Delete both sessions."""
        for peer in (self.mine, self.other):
            assert peer.welcome is not None
            request = session_pb.DeleteSessionRequest(session_id=peer.welcome.session_id)
            await self.sessions.DeleteSession(request)
            await peer.lose()


def _of(call_id: str) -> Any:
    return lambda frame: frame.call.call_id == call_id
