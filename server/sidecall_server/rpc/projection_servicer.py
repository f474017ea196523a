"""ProjectionService."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc.aio
from sidecall.v1 import projection_service_pb2 as pb
from sidecall.v1 import projection_service_pb2_grpc

from sidecall_server.wire.projection import (
    project_cell,
    project_failure,
    project_output,
    truncate_text,
)

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class ProjectionServicer(projection_service_pb2_grpc.ProjectionServiceServicer):
    """Projects outputs; knows no session."""

    async def ProjectToolOutput(
        self, request: pb.ProjectToolOutputRequest, context: Context
    ) -> pb.ProjectToolOutputResponse:
        return project_output(request)

    async def ProjectToolFailure(
        self, request: pb.ProjectToolFailureRequest, context: Context
    ) -> pb.ProjectToolFailureResponse:
        return project_failure(request)

    async def ProjectCellResult(
        self, request: pb.ProjectCellResultRequest, context: Context
    ) -> pb.ProjectCellResultResponse:
        return project_cell(request)

    async def TruncateText(
        self, request: pb.TruncateTextRequest, context: Context
    ) -> pb.TruncateTextResponse:
        return truncate_text(request)
