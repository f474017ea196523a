"""What is fuzzed, in this process: the servicers behind the boundary, and a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from google.protobuf.message import DecodeError, Message
from sidecall.v1 import errors_pb2, projection_service_pb2, recorder_service_pb2
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall_server.domain.errors import DomainError
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc.projection_servicer import ProjectionServicer
from sidecall_server.rpc.recorder_servicer import RecorderServicer
from sidecall_server.rpc.runtime_servicer import RuntimeServicer
from sidecall_server.rpc.session_servicer import SessionServicer
from sidecall_server.rpc.status import grpc_status
from sidecall_server.runtime.connection import Connection
from sidecall_server.runtime.protocol import PROTOCOL_VERSIONS
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.codec import ProtobufCodec
from sidecall_server.wire.envelope import open_envelope
from sidecall_server.wire.errors import MAX_DETAIL_BYTES
from sidecall_server.wire.recorder import read_attach_request
from sidecall_server.wire.runtime import ServerInfo

from tests.runtime_wire import frames

HANDLER_TOKEN: Final = b"TOKEN-OF-HANDLER"
HOOK_TOKEN: Final = b"TOKEN-OF-THE-HOO"
"""In seeds; a running world puts its real tokens of the same length there."""

SESSION_ID: Final = "s"
_OPTIONS: Final = SessionOptions()

READERS: Final[dict[str, Callable[[bytes], Any]]] = {
    "AttachExecutedToolCalls": read_attach_request,
}
"""What reads requests that the server does not read as their generated classes."""

REQUESTS: Final[dict[str, type[Message]]] = {
    method.name: getattr(module, method.input_type.name)
    for module in (runtime_pb, session_pb, recorder_service_pb2, projection_service_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if method.name != "Connect"
}
"""Every unary request, and WatchSession's, by method."""


class _Nobody:
    """A context of a client that shows no certificate."""

    def peer_identities(self) -> None:
        return None


class World:
    """A server's inside with one attached session, `s`: call `c` runs, `h` waits for its hook.

    Use it from a running loop, and end it with `close`.
    """

    def __init__(self) -> None:
        limits = RuntimeLimits(max_sessions=4, max_calls_in_flight=8)
        codec = ProtobufCodec(limits, "instance", _OPTIONS)
        self.sessions = Sessions(limits, codec)
        info = ServerInfo("1.2.3", "instance", PROTOCOL_VERSIONS, ("fuzz",), True)
        self._servicers = (
            RuntimeServicer(self.sessions, info),
            SessionServicer(self.sessions, _OPTIONS),
            RecorderServicer(self.sessions),
            ProjectionServicer(),
        )
        self.refusals: list[str] = []
        """What was refused, and why."""
        self.written: list[pb.ServerFrame] = []
        self.connection = Connection(self.sessions, "", codec, abandon=lambda: None, gather_turns=3)
        self._writer = asyncio.create_task(self._write())

    async def begin(self) -> World:
        """Attach and let the two calls begin."""
        session = self.sessions.create(SESSION_ID, _OPTIONS)
        hello = pb.Hello(
            protocol_versions=[1],
            session_id=SESSION_ID,
            resume_token=session.resume_token,
            tools=[
                frames.tool("echo", supports_parallel_calls=True),
                frames.tool("hooked", supports_parallel_calls=True),
            ],
            hooks=[
                frames.hook(pb.HOOK_POINT_PRE_TOOL_USE, "hooked", timeout=60),
                frames.hook(pb.HOOK_POINT_POST_TOOL_USE, "echo", timeout=60),
            ],
        )
        self.connection.put(
            pb.ConnectRequest(frames=[pb.ClientFrame(hello=hello)]).SerializeToString()
        )
        calls = [frames.call("c", "echo", turn_id="t"), frames.call("h", "hooked", turn_id="t")]
        message = pb.ConnectRequest(sequence=1, frames=[frames.dispatch(call) for call in calls])
        self.connection.put(message.SerializeToString())
        await self.settle()
        self.handler_token = self._one("invoke_handler").invocation_token
        self.hook_token = self._one("invoke_hook").hook_token
        return self

    def real(self, data: bytes) -> bytes:
        """The data with the tokens that are valid here."""
        return data.replace(HANDLER_TOKEN, self.handler_token).replace(HOOK_TOKEN, self.hook_token)

    async def request(self, method: str, data: bytes) -> None:
        """One unary request, as the boundary would serve it.

        Raises:
            AssertionError: it failed with anything but a DomainError, or its answer is none.
        """
        try:
            request = READERS.get(method, REQUESTS[method].FromString)(data)
        except DecodeError:
            return
        try:
            answer = await self._answer(method, request)
        except DomainError as error:
            self.refusals.append(str(error))
            self._check_error(error)
        else:
            assert type(answer).FromString(answer.SerializeToString()) == answer

    async def message(self, data: bytes) -> None:
        """One message of the stream; afterwards the stream still answers, or has ended well."""
        self.connection.put(self.real(data))
        await self._check_stream()

    async def frame(self, data: bytes) -> None:
        """One frame in the next message."""
        tag = b"\x08\x02\x1a"  # sequence 2, a frame of this length
        size = len(data := self.real(data))
        length = bytearray()
        while size > 127:
            length.append(size & 127 | 128)
            size >>= 7
        await self.message(tag + bytes([*length, size]) + data)

    async def settle(self) -> None:
        """Let the writer write what waits."""
        for _ in range(6):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """End everything."""
        self.connection.closed()
        self.sessions.close()
        await asyncio.wait([self._writer])
        if not self._writer.cancelled() and (error := self._writer.exception()) is not None:
            assert isinstance(error, DomainError), error
            self._check_error(error)

    # --- details ----------------------------------------------------------------------

    async def _answer(self, method: str, request: Message) -> Message:
        context = _Nobody()
        for servicer in self._servicers:
            behaviour: Callable[..., Any] | None = type(servicer).__dict__.get(method)
            if behaviour is None:
                continue
            if method == "WatchSession":
                events = behaviour(servicer, request, context)
                first: Message = await anext(events)
                await events.aclose()
                return first
            return cast(Message, await behaviour(servicer, request, context))
        raise AssertionError(f"nobody serves {method}")

    async def _check_stream(self) -> None:
        await self.settle()
        internal = errors_pb2.ERROR_REASON_INTERNAL
        for frame in self._of("frame_error"):
            self.refusals.append(frame.message)
            assert frame.reason != internal, frame.message
            assert frame.reason in errors_pb2.ErrorReason.values(), frame
            assert frame.ByteSize() <= 2 * MAX_DETAIL_BYTES, frame.ByteSize()
        ended = [frame.call.call_id for frame in self._of("call_completed")]
        assert len(ended) == len(set(ended)) or self._of("call_accepted"), ended

    def _check_error(self, error: DomainError) -> None:
        status = grpc_status(error)
        assert len(status.details.encode()) <= MAX_DETAIL_BYTES
        (trailer,) = status.trailing_metadata
        assert len(trailer[1]) <= MAX_DETAIL_BYTES

    async def _write(self) -> None:
        await self.connection.serve(self._take)

    async def _take(self, message: bytes) -> None:
        for data in open_envelope(message).frames:
            self.written.append(pb.ServerFrame.FromString(data))

    def _of(self, kind: str) -> list[Any]:
        return [getattr(frame, kind) for frame in self.written if frame.WhichOneof("frame") == kind]

    def _one(self, kind: str) -> Any:
        (found,) = self._of(kind)
        return found
