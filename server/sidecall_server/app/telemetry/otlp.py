"""Traces and metrics to an OTLP receiver over gRPC. Needs the extra ``[otel]``.

The variables of OpenTelemetry hold where no setting does: ``OTEL_EXPORTER_OTLP_HEADERS``,
``OTEL_EXPORTER_OTLP_CERTIFICATE``, ``OTEL_RESOURCE_ATTRIBUTES``, ``OTEL_TRACES_SAMPLER``,
``OTEL_METRIC_EXPORT_INTERVAL`` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from sidecall_server.app.telemetry.census import Census
from sidecall_server.app.telemetry.otel_metrics import OtelMetrics
from sidecall_server.app.telemetry.tracing import CallTracing
from sidecall_server.app.version import VERSION
from sidecall_server.runtime.observer import Observer

EXPORT_SECONDS: Final = 5.0
"""How long one export may take, with its retries."""


class OtlpExport:
    """The observers that make spans and metrics, and the threads that send them."""

    def __init__(self, endpoint: str, instance_id: str, census: Census, *, previews: bool) -> None:
        resource = Resource(
            {
                "service.name": "sidecall",
                "service.version": VERSION,
                "service.instance.id": instance_id,
            }
        ).merge(OTELResourceDetector().detect())
        # At exit it would wait for a receiver that is gone; `close` waits, within bounds.
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=EXPORT_SECONDS))
        )
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint, timeout=EXPORT_SECONDS))
        self._metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        self.observers: Sequence[Observer] = (
            CallTracing(self._traces, previews=previews),
            OtelMetrics(self._metrics, census),
        )

    def close(self) -> None:
        """Send what is left. Takes up to `EXPORT_SECONDS` twice; not on the event loop."""
        self._traces.shutdown()
        self._metrics.shutdown()
