"""The operator, who looks after the sidecar while a scenario is played.

- ``operator: await_state`` waits until the session is in ``state``
- ``operator: cancel`` cancels the open calls of the turn ``turn_id``
- ``operator: delete`` deletes the session
- ``operator: session`` finds the session to be as ``expect`` says
- ``operator: drain`` asks the sidecar to leave, and waits until it says that it does
- ``operator: restart`` kills the sidecar and starts another one in its place

After the last two the sidecar is not what it was: such a scenario names flags of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc.aio
from google.protobuf.json_format import MessageToDict
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import runtime_stream_pb2
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.conformance.clients.expected import Json
from tests.conformance.clients.sidecar import Sidecar
from tests.conformance.differences import difference

Event = session_pb.WatchSessionResponse


class OperatorFailed(Exception):
    """Something is not as it must be."""


async def operate(step: Json, sidecar: Sidecar, session_id: str) -> None:
    """Carry out an operator's step.

    Raises:
        OperatorFailed: what must be so is not.
    """
    if step["operator"] == "restart":
        await sidecar.kill()
        await sidecar.start()
        return
    options = [("grpc.default_authority", "localhost")]
    async with grpc.aio.insecure_channel(f"unix:{sidecar.socket}", options) as channel:
        await _Operator(sidecar, channel, session_id).do(step)


class _Operator:
    """An operator at work on one session."""

    def __init__(self, sidecar: Sidecar, channel: grpc.aio.Channel, session_id: str) -> None:
        self._sidecar = sidecar
        self._session_id = session_id
        # The stubs serve both worlds; these are of the asyncio one.
        self._sessions: Any = SessionServiceStub(channel)
        self._runtime: Any = RuntimeServiceStub(channel)
        self._health: Any = HealthStub(channel)

    async def do(self, step: Json) -> None:
        match step["operator"]:
            case "await_state":
                await self._await(_in_state(step["state"]))
            case "cancel":
                target = runtime_stream_pb2.CancelTarget(turn_id=step["turn_id"])
                await self._runtime.CancelToolCall(
                    runtime_pb.CancelToolCallRequest(session_id=self._session_id, target=target)
                )
            case "delete":
                request = session_pb.DeleteSessionRequest(session_id=self._session_id)
                await self._sessions.DeleteSession(request)
            case "session":
                await self._check_session(step["expect"])
            case "drain":
                self._sidecar.terminate()
                await self._not_serving()
            case kind:
                raise ValueError(f"an operator cannot {kind!r}")

    async def _await(self, wanted: Callable[[Event], bool]) -> None:
        """Watch the session, its snapshot first, until something is so."""
        request = session_pb.WatchSessionRequest(session_id=self._session_id)
        async for event in self._sessions.WatchSession(request):
            if wanted(event):
                return
        raise OperatorFailed("the session closed before that")

    async def _not_serving(self) -> None:
        async for answer in self._health.Watch(health_pb2.HealthCheckRequest()):
            if answer.status == health_pb2.HealthCheckResponse.NOT_SERVING:
                return

    async def _check_session(self, expect: Json) -> None:
        request = session_pb.GetSessionRequest(session_id=self._session_id)
        response = await self._sessions.GetSession(request)
        session = MessageToDict(
            response.session,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        found = difference(expect, {key: session.get(key) for key in expect})
        if found is not None:
            raise OperatorFailed(found)


def _in_state(name: str) -> Callable[[Event], bool]:
    state = session_pb.SessionState.Value(f"SESSION_STATE_{name.upper()}")
    return lambda event: (event.state_changed.state or event.snapshot.session.state) == state
