"""RecorderService."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc
import grpc.aio
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import recorder_service_pb2_grpc

from sidecall_server.domain.errors import DomainError
from sidecall_server.rpc.lookup import find_session
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.recorder import (
    AttachResponse,
    read_attach_request,
    read_base,
    read_formats,
    read_outputs,
    write_attachment,
)
from sidecall_server.wire.session import read_turn_options, write_disposition
from sidecall_server.wire.tool_call import read_tool_call
from sidecall_server.wire.validation import Problems, read_id, read_required_id

SERVICE = "sidecall.v1.RecorderService"

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class RecorderServicer(recorder_service_pb2_grpc.RecorderServiceServicer):
    """Records calls and attaches the records to prompts."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def RecordToolCall(
        self, request: pb.RecordToolCallRequest, context: Context
    ) -> pb.RecordToolCallResponse:
        problems = Problems()
        turn_options = None
        with problems:
            call = read_tool_call(request.call, "call")
        if request.HasField("turn_options"):
            with problems:
                turn_options = read_turn_options(request.turn_options, "turn_options")
        problems.check()
        session = find_session(self._sessions, request.session_id, context)
        disposition = session.record_tool_call(call, turn_options)
        return pb.RecordToolCallResponse(disposition=write_disposition(disposition))

    async def RegisterCell(
        self, request: pb.RegisterCellRequest, context: Context
    ) -> pb.RegisterCellResponse:
        problems = Problems()
        with problems:
            cell_id = read_required_id(request.cell_id, "cell_id")
        with problems:
            output_call_id = read_required_id(request.output_call_id, "output_call_id")
        with problems:
            turn_id = read_id(request.turn_id, "turn_id")
        problems.check()
        session = find_session(self._sessions, request.session_id, context)
        return pb.RegisterCellResponse(
            registered=session.register_cell(cell_id, output_call_id, turn_id)
        )

    async def AttachExecutedToolCalls(self, request: Any, context: Context) -> Any:
        """By `add_recorder` the request is an `AttachRequest`, the answer an `AttachResponse`."""
        problems = Problems()
        found: Session | DomainError
        try:
            found = find_session(self._sessions, request.session_id, context)
        except DomainError as error:
            found = error  # told last, where the request is well-formed
        last = None
        if isinstance(found, Session) and not request.base:
            last = found.recorder.outline.writing
        with problems:
            sampling_request_id = read_required_id(
                request.sampling_request_id, "sampling_request_id"
            )
        with problems:
            prompt = read_outputs(request.outputs, "outputs", last)
        with problems:
            turn_id = read_id(request.turn_id, "turn_id")
        with problems:
            formats = read_formats(request.formats, "formats")
        problems.check()
        if isinstance(found, DomainError):
            raise found
        prompt = prompt._replace(base=read_base(request.base, "base", found.prompt_key))
        attachment = found.attach(prompt, sampling_request_id, turn_id)
        return write_attachment(attachment, found.recorder, formats, found.prompt_key)


def add_recorder(server: grpc.aio.Server, sessions: Sessions) -> None:
    """Add the service; the messages of Attach are read and written by their own means."""
    servicer = RecorderServicer(sessions)
    recorder_service_pb2_grpc.add_RecorderServiceServicer_to_server(servicer, server)
    attach: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(
        servicer.AttachExecutedToolCalls,
        request_deserializer=read_attach_request,
        response_serializer=AttachResponse.SerializeToString,
    )
    server.add_registered_method_handlers(SERVICE, {"AttachExecutedToolCalls": attach})
