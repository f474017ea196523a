"""The unary rpcs for asyncio: sessions, recorder, projections."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from sidecall.client import messages, requests, values
from sidecall.client.errors import raising
from sidecall.endpoint import Endpoint
from sidecall.v1 import (
    projection_service_pb2_grpc,
    recorder_service_pb2_grpc,
    runtime_service_pb2_grpc,
    session_service_pb2_grpc,
)
from sidecall.v1 import (
    recorder_service_pb2 as recorder_pb,
)
from sidecall.v1 import (
    runtime_service_pb2 as runtime_pb,
)
from sidecall.v1 import (
    session_service_pb2 as session_pb,
)


class AsyncClient:
    """A sidecar's unary rpcs. Use it as an async context manager.

    Every method raises a `SidecallError`: `UnavailableError` when the sidecar cannot be
    reached, `InvalidArgumentError` with `field_violations` for a request it cannot use, and
    what the method names.

    Args:
        endpoint: where the sidecar is; None: what `SIDECALL_ENDPOINT` says.
    """

    def __init__(self, endpoint: Endpoint | str | None = None) -> None:
        found = Endpoint.find(endpoint)
        self._metadata = found.metadata
        self._channel = found.aio_channel()
        self._sessions = session_service_pb2_grpc.SessionServiceStub(self._channel)
        self._recorder = recorder_service_pb2_grpc.RecorderServiceStub(self._channel)
        self._projection = projection_service_pb2_grpc.ProjectionServiceStub(self._channel)
        self._runtime = runtime_service_pb2_grpc.RuntimeServiceStub(self._channel)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    async def create_session(
        self, session_id: str = "", options: values.SessionOptions | None = None
    ) -> values.Session:
        """Open a session; an empty id lets the sidecar choose.

        Raises:
            AlreadyExistsError: the id is taken.
            LimitError: the sidecar holds as many sessions as it may.
        """
        request = requests.create_session(session_id, options)
        with raising():
            response = await self._sessions.CreateSession(request, metadata=self._metadata)
        return messages.session_value(response.session, response.resume_token)

    async def get_session(self, session_id: str) -> values.Session:
        """Show a session.

        Raises:
            NotFoundError: there is none.
        """
        request = session_pb.GetSessionRequest(session_id=session_id)
        with raising():
            response = await self._sessions.GetSession(request, metadata=self._metadata)
        return messages.session_value(response.session)

    async def delete_session(self, session_id: str) -> int:
        """End a session; the number of calls that were aborted.

        Raises:
            NotFoundError: there is none.
        """
        request = session_pb.DeleteSessionRequest(session_id=session_id)
        with raising():
            response = await self._sessions.DeleteSession(request, metadata=self._metadata)
        return response.aborted_calls

    async def end_turn(self, session_id: str, turn_id: str) -> int:
        """Say that a turn is over; the number of its calls that are still open."""
        request = session_pb.EndTurnRequest(session_id=session_id, turn_id=turn_id)
        with raising():
            response = await self._sessions.EndTurn(request, metadata=self._metadata)
        return response.open_calls

    async def record_tool_call(
        self,
        session_id: str,
        call: values.ToolCall,
        turn_options: values.TurnOptions | None = None,
    ) -> str:
        """Record that a call is attempted, before anything else happens to it.

        Returns:
            What became of the record: ``recorded``, ``marked``, ``dropped``, ``skipped``,
            ``disabled`` or ``duplicate``.
        """
        request = requests.record_tool_call(session_id, call, turn_options)
        with raising():
            response = await self._recorder.RecordToolCall(request, metadata=self._metadata)
        return str(
            messages.enum_name(
                session_pb.RecordDisposition, "RECORD_DISPOSITION", response.disposition
            )
        )

    async def register_cell(
        self, session_id: str, cell_id: str, output_call_id: str, turn_id: str = ""
    ) -> bool:
        """Say which output carries the records of a cell's calls; False: no room.

        Register `exec` as soon as its cell has started, `wait` after the cell answered.
        """
        request = recorder_pb.RegisterCellRequest(
            session_id=session_id,
            cell_id=cell_id,
            output_call_id=output_call_id,
            turn_id=turn_id,
        )
        with raising():
            response = await self._recorder.RegisterCell(request, metadata=self._metadata)
        return response.registered

    async def attach(
        self,
        session_id: str,
        sampling_request_id: str,
        outputs: Sequence[values.PromptOutput],
        turn_id: str = "",
        *,
        base: values.PromptBase | None = None,
    ) -> values.Attachment:
        """Attach records to all outputs of a prompt, in order; at each try of each request.

        With a `base` only the outputs after those that stay are told.
        """
        request = requests.attach(session_id, sampling_request_id, outputs, turn_id, base)
        with raising():
            response = await self._recorder.AttachExecutedToolCalls(
                request, metadata=self._metadata
            )
        return messages.attachment_value(response)

    async def project_tool_output(
        self,
        call: values.ToolCall,
        output: values.ToolOutput,
        *,
        feedback: str | None = None,
        views: Sequence[values.View] | None = None,
    ) -> values.Projections:
        """Make the views of one output. `views` None: all."""
        request = requests.project_tool_output(call, output, feedback, views)
        with raising():
            response = await self._projection.ProjectToolOutput(request, metadata=self._metadata)
        return messages.projections_value(response.projections)

    async def truncate_text(
        self, text: str | bytes, policy: values.TruncationPolicy, *, formatted: bool = False
    ) -> str:
        """Cut the middle out of a text."""
        request = requests.truncate_text(text, policy, formatted)
        with raising():
            response = await self._projection.TruncateText(request, metadata=self._metadata)
        return response.text.decode()

    async def cancel(
        self,
        session_id: str,
        *,
        calls: Sequence[values.CallReference] | None = None,
        turn_id: str | None = None,
    ) -> dict[values.CallReference, values.CancelDisposition]:
        """Cancel calls, a turn's calls, or (with neither) all open calls. Never too late."""
        request = requests.cancel(session_id, calls, turn_id)
        with raising():
            response = await self._runtime.CancelToolCall(request, metadata=self._metadata)
        return requests.disposition_of(response)

    async def get_tool_call(
        self, session_id: str, call: values.CallReference
    ) -> values.ToolCallStatus:
        """Show one call: how it stands, or ended.

        Raises:
            NotFoundError: there is none, or it is no longer kept (CALL_NOT_FOUND).
        """
        request = requests.get_tool_call(session_id, call)
        with raising():
            response = await self._runtime.GetToolCall(request, metadata=self._metadata)
        return messages.status_value(response)

    async def server_version(self) -> str:
        """The version of the sidecar; also the cheapest way to see that it is there."""
        with raising():
            response = await self._runtime.GetRuntimeInfo(
                runtime_pb.GetRuntimeInfoRequest(), metadata=self._metadata
            )
        return response.server_version
