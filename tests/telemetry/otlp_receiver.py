"""An OTLP receiver over gRPC that keeps what it gets and lets tests wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import grpc
import grpc.aio
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2,
    metrics_service_pb2_grpc,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.app.certificates import Identity

WAIT_SECONDS = 30.0

Value: TypeAlias = str | int | bool


def attributes_of(pairs: list[KeyValue]) -> dict[str, Value]:
    """Attributes as a mapping."""
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


class OtlpReceiver:
    """Serves the trace and metrics services of OTLP on a free port of this machine.

    With an identity it speaks TLS.
    """

    def __init__(self, identity: Identity | None = None) -> None:
        self._identity = identity
        self.spans: list[Span] = []
        self.resources: list[dict[str, Value]] = []
        self.metrics: dict[str, Metric] = {}
        """The last of each name; they are cumulative."""
        self.received = b""
        """Everything, as it came over the wire."""
        self.metadata: list[dict[str, str | bytes]] = []
        """What each export of spans came with."""
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> OtlpReceiver:
        self._server = grpc.aio.server()
        for add, servicer in (
            (trace_service_pb2_grpc.add_TraceServiceServicer_to_server, _Traces(self)),
            (metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server, _Metrics(self)),
        ):
            add(servicer, self._server)  # type: ignore[no-untyped-call]
        if self._identity is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
            self.endpoint = f"http://127.0.0.1:{port}"
        else:
            pair = (self._identity.key_pem, self._identity.certificate_pem)
            port = self._server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
            self.endpoint = f"https://localhost:{port}"
        await self._server.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._server.stop(None)

    async def wait_for(self, wanted: Callable[[], bool]) -> None:
        """Until what has come is enough."""
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(wanted)

    async def span(self, call_id: str) -> Span:
        """The span of a call."""

        def of_call(span: Span) -> bool:
            return attributes_of(list(span.attributes)).get("gen_ai.tool.call.id") == call_id

        await self.wait_for(lambda: any(map(of_call, self.spans)))
        (span,) = filter(of_call, self.spans)
        return span

    async def take_spans(self, request: trace_service_pb2.ExportTraceServiceRequest) -> None:
        async with self._changed:
            self.received += request.SerializeToString()
            for of_resource in request.resource_spans:
                self.resources.append(attributes_of(list(of_resource.resource.attributes)))
                for of_scope in of_resource.scope_spans:
                    self.spans += of_scope.spans
            self._changed.notify_all()

    async def take_metrics(self, request: metrics_service_pb2.ExportMetricsServiceRequest) -> None:
        async with self._changed:
            self.received += request.SerializeToString()
            for of_resource in request.resource_metrics:
                for of_scope in of_resource.scope_metrics:
                    self.metrics.update((metric.name, metric) for metric in of_scope.metrics)
            self._changed.notify_all()


class _Traces(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self, receiver: OtlpReceiver) -> None:
        self._receiver = receiver

    async def Export(
        self,
        request: trace_service_pb2.ExportTraceServiceRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> trace_service_pb2.ExportTraceServiceResponse:
        self._receiver.metadata.append(dict(context.invocation_metadata() or ()))
        await self._receiver.take_spans(request)
        return trace_service_pb2.ExportTraceServiceResponse()


class _Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
    def __init__(self, receiver: OtlpReceiver) -> None:
        self._receiver = receiver

    async def Export(
        self, request: metrics_service_pb2.ExportMetricsServiceRequest, context: object
    ) -> metrics_service_pb2.ExportMetricsServiceResponse:
        await self._receiver.take_metrics(request)
        return metrics_service_pb2.ExportMetricsServiceResponse()
