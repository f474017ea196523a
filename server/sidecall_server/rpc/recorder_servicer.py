"""RecorderService."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc.aio
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import recorder_service_pb2_grpc

from sidecall_server.rpc.lookup import find_session
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.recorder import read_base, read_formats, read_outputs, write_attachment
from sidecall_server.wire.session import read_turn_options, write_disposition
from sidecall_server.wire.tool_call import read_tool_call
from sidecall_server.wire.validation import Problems, read_id, read_required_id

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

    async def AttachExecutedToolCalls(
        self, request: pb.AttachExecutedToolCallsRequest, context: Context
    ) -> pb.AttachExecutedToolCallsResponse:
        problems = Problems()
        with problems:
            sampling_request_id = read_required_id(
                request.sampling_request_id, "sampling_request_id"
            )
        with problems:
            outputs = read_outputs(request.outputs, "outputs")
        with problems:
            turn_id = read_id(request.turn_id, "turn_id")
        with problems:
            formats = read_formats(request.formats, "formats")
        with problems:
            base = read_base(request.base, "base") if request.HasField("base") else None
        problems.check()
        session = find_session(self._sessions, request.session_id, context)
        attachment = session.attach(outputs, sampling_request_id, turn_id, base=base)
        return write_attachment(attachment, session.recorder, formats)
