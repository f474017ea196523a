"""OpenTelemetry metrics of calls, and the census. Needs the extra ``[otel]``.

No attribute has values that a client chooses: no tool names, no ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation

from sidecall_server.app.telemetry.census import MEASURES, Census, Measure
from sidecall_server.app.telemetry.finished_call import PHASE_BUCKETS_SECONDS, FinishedCall
from sidecall_server.app.telemetry.tracing import OPERATION
from sidecall_server.app.version import VERSION
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session


class OtelMetrics(Observer):
    """Counts what happens; the census is read at each export."""

    def __init__(self, provider: MeterProvider, census: Census) -> None:
        meter = provider.get_meter("sidecall", VERSION)
        self._duration = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            "s",
            "From the dispatch of a call to its outcome.",
            explicit_bucket_boundaries_advisory=PHASE_BUCKETS_SECONDS,
        )
        self._phase_duration = meter.create_histogram(
            "sidecall.call.phase.duration",
            "s",
            "Where the time of calls went.",
            explicit_bucket_boundaries_advisory=PHASE_BUCKETS_SECONDS,
        )
        self._bytes = meter.create_counter(
            "sidecall.call.io", "By", "Payloads and results of calls that have ended."
        )
        self._hooks_failed_open = meter.create_counter(
            "sidecall.hooks.failed_open", "{answer}", "Hook answers that could not be used."
        )
        self._late_results = meter.create_counter(
            "sidecall.late_results", "{answer}", "Answers that came too late and were dropped."
        )
        self._refusals = meter.create_counter(
            "sidecall.limit.refusals", "{refusal}", "Requests and frames refused at a limit."
        )
        _observe_census(meter, census)

    def hook_ended(
        self, session: Session, call: Call, point: HookPoint, verdict: str, seconds: float
    ) -> None:
        self._phase_duration.record(seconds, {"sidecall.phase": point.value})

    def hook_failed_open(self, session: Session, call: Call) -> None:
        self._hooks_failed_open.add(1)

    def call_finished(self, session: Session, call: Call) -> None:
        outcome = call.outcome
        assert outcome is not None, "the call has ended"
        finished = FinishedCall.of(outcome)
        attributes = {
            "gen_ai.operation.name": OPERATION,
            "sidecall.outcome": finished.outcome,
            "sidecall.tool_mode": session.options.effective_tool_mode(call.turn_options).value,
        }
        if finished.error_type:
            attributes["error.type"] = finished.error_type
        durations = call.durations()
        assert durations.total is not None, "the call has ended"
        self._duration.record(durations.total, attributes)
        for phase in ("dispatch", "handler"):
            seconds = getattr(durations, phase)
            if seconds is not None:
                self._phase_duration.record(seconds, {"sidecall.phase": phase})
        self._bytes.add(call.dispatch.size_bytes, {"sidecall.direction": "payload"})
        self._bytes.add(call.result_bytes, {"sidecall.direction": "result"})

    def late_result(self, session: Session) -> None:
        self._late_results.add(1)

    def limit_refused(self, limit: str) -> None:
        self._refusals.add(1, {"sidecall.limit": limit})


def _observe_census(meter: Meter, census: Census) -> None:
    for measure in MEASURES:
        create = (
            meter.create_observable_gauge
            if measure.kind == "gauge"
            else meter.create_observable_counter
        )
        create(
            f"sidecall.{measure.name}",
            [_observing(census, measure)],
            measure.unit,
            measure.description,
        )


def _observing(
    census: Census, measure: Measure
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(options: CallbackOptions) -> Iterable[Observation]:
        for value, count in census.take_from_thread()[measure.name].items():
            label = {f"sidecall.{measure.label}": value} if measure.label else {}
            yield Observation(count, label)

    return observe
