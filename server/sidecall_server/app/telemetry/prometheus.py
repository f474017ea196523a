"""Prometheus metrics, on an HTTP endpoint of their own. Needs the extra ``[prometheus]``.

No label has values that a client chooses: no tool names, no ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from wsgiref.simple_server import WSGIServer

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sidecall_server.app.tcp import ListenRefused, TcpAddress
from sidecall_server.app.telemetry.census import MEASURES, Census, Measure
from sidecall_server.app.telemetry.finished_call import PHASE_BUCKETS_SECONDS, FinishedCall
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.fields import fields_of
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session


class PrometheusMetrics(Observer):
    """Counts what happens, and serves it together with the census."""

    def __init__(self, census: Census) -> None:
        # Else each counter comes with a second series, the time of its birth.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._registry.register(_CensusCollector(census))
        ProcessCollector(registry=self._registry)
        self._calls = Counter(
            "sidecall_calls",
            "Calls that have ended.",
            ("outcome", "success", "abort_reason", "tool_mode"),
            registry=self._registry,
        )
        phases = Histogram(
            "sidecall_call_phase_seconds",
            "Where the time of calls went.",
            ("phase",),
            buckets=PHASE_BUCKETS_SECONDS,
            registry=self._registry,
        )
        names = ("dispatch", "handler", "total", *HookPoint)
        self._phases = {name: phases.labels(phase=str(name)) for name in names}
        transferred = Counter(
            "sidecall_call_bytes",
            "Bytes of the payloads and results of calls that have ended.",
            ("direction",),
            registry=self._registry,
        )
        self._payload_bytes = transferred.labels("payload")
        self._result_bytes = transferred.labels("result")
        self._sessions = Counter(
            "sidecall_sessions_opened", "Sessions that were opened.", registry=self._registry
        )
        self._hooks_failed_open = Counter(
            "sidecall_hooks_failed_open",
            "Hook answers that could not be used; the call went on unchanged (SPEC F10).",
            registry=self._registry,
        )
        self._late_results = Counter(
            "sidecall_late_results",
            "Answers of handlers and hooks that came too late and were dropped.",
            registry=self._registry,
        )
        self._refusals = Counter(
            "sidecall_limit_refusals",
            "Requests and frames refused at a limit, by the limit's name.",
            ("limit",),
            registry=self._registry,
        )

    def serve(self, address: TcpAddress) -> PrometheusEndpoint:
        """Serve the metrics from a thread of its own.

        Raises:
            ListenRefused: the address is in use, or not this machine's.
        """
        try:
            server, _ = start_http_server(address.port, address.host, self._registry)
        except OSError as error:
            raise ListenRefused(
                f"metrics_listen: cannot listen on {address}: {error.strerror}"
            ) from error
        return PrometheusEndpoint(server, address.host)

    def session_opened(self, session: Session) -> None:
        self._sessions.inc()

    def hook_ended(
        self, session: Session, call: Call, point: HookPoint, verdict: str, seconds: float
    ) -> None:
        self._phases[point].observe(seconds)

    def hook_failed_open(self, session: Session, call: Call) -> None:
        self._hooks_failed_open.inc()

    def call_finished(self, session: Session, call: Call) -> None:
        outcome = call.outcome
        assert outcome is not None, "the call has ended"
        finished = FinishedCall.of(outcome)
        self._calls.labels(
            finished.outcome,
            "true" if finished.success else "false",
            finished.abort_reason,
            session.options.effective_tool_mode(call.turn_options).value,
        ).inc()
        for phase, seconds in fields_of(call.durations()).items():
            if seconds is not None:
                self._phases[phase].observe(seconds)
        self._payload_bytes.inc(call.dispatch.size_bytes)
        self._result_bytes.inc(call.result_bytes)

    def late_result(self, session: Session) -> None:
        self._late_results.inc()

    def limit_refused(self, limit: str) -> None:
        self._refusals.labels(limit).inc()


class PrometheusEndpoint:
    """A running endpoint."""

    def __init__(self, server: WSGIServer, host: str) -> None:
        self._server = server
        self.address = TcpAddress(host, server.server_port)

    def close(self) -> None:
        """Stop it; takes up to half a second, so call it from another thread."""
        self._server.shutdown()
        self._server.server_close()


class _CensusCollector(Collector):
    """The census in Prometheus' words; collected in the thread that answers the scrape."""

    def __init__(self, census: Census) -> None:
        self._census = census

    def describe(self) -> list[Metric]:
        return []  # or registering would collect, on the event loop

    def collect(self) -> Iterator[Metric]:
        counted = self._census.take_from_thread()
        for measure in MEASURES:
            yield _family(measure, counted[measure.name])


def _family(measure: Measure, counts: Mapping[str, int]) -> Metric:
    name = "sidecall_" + measure.name.replace(".", "_")
    if measure.unit == "By":
        name += "_bytes"
    labels = (measure.label,) if measure.label else ()
    kind = GaugeMetricFamily if measure.kind == "gauge" else CounterMetricFamily
    family = kind(name, measure.description, labels=labels)
    for value, count in counts.items():
        family.add_metric((value,) if measure.label else (), count)
    return family
