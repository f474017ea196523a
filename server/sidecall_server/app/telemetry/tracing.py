"""One span per call, after the GenAI conventions of OpenTelemetry. Needs the extra ``[otel]``.

The span is a child of the one that the agent names in ``DispatchCall.traceparent``, and takes
over its decision to sample. Names of attributes outside the conventions begin with
``sidecall.``.
"""

from __future__ import annotations

from typing import Final

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sidecall_server.app.telemetry.finished_call import FinishedCall, log_preview
from sidecall_server.app.version import VERSION
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.outcome import Aborted
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session

OPERATION: Final = "execute_tool"

_MAX_SPAN_TOOL_NAME_CHARS: Final = 256
"""The model chooses the name, and span names are indexed."""


class CallTracing(Observer):
    """A span from dispatch to terminal outcome, with events for hooks and handler."""

    def __init__(self, provider: TracerProvider, *, previews: bool) -> None:
        self._tracer = provider.get_tracer("sidecall", VERSION)
        self._previews = previews
        self._propagator = TraceContextTextMapPropagator()
        self._spans: dict[Call, Span] = {}

    def call_dispatched(self, session: Session, call: Call) -> None:
        asked = call.dispatch.call
        tool = asked.tool_name.flat[:_MAX_SPAN_TOOL_NAME_CHARS]
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": OPERATION,
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": asked.call_id,
            "gen_ai.tool.type": "function",
            "sidecall.session.id": session.id,
            "sidecall.turn.id": asked.turn_id,
            "sidecall.dispatch_order": call.dispatch_order,
            "sidecall.payload.kind": asked.payload.kind.value,
            "sidecall.payload.bytes": call.dispatch.size_bytes,
            "sidecall.tool_mode": session.options.effective_tool_mode(call.turn_options).value,
        }
        if call.cell_id:
            attributes["sidecall.cell.id"] = call.cell_id
        self._spans[call] = self._tracer.start_span(
            f"{OPERATION} {tool}",
            self._propagator.extract({"traceparent": call.dispatch.traceparent}, Context()),
            SpanKind.INTERNAL,
            attributes,
        )

    def call_started(self, session: Session, call: Call) -> None:
        self._spans[call].add_event("sidecall.call.started")

    def hook_asked(self, session: Session, call: Call, point: HookPoint) -> None:
        self._spans[call].add_event("sidecall.hook.asked", {"sidecall.hook.point": point.value})

    def hook_ended(
        self, session: Session, call: Call, point: HookPoint, verdict: str, seconds: float
    ) -> None:
        self._spans[call].add_event(
            "sidecall.hook.ended",
            {"sidecall.hook.point": point.value, "sidecall.hook.verdict": verdict},
        )

    def hook_failed_open(self, session: Session, call: Call) -> None:
        self._spans[call].add_event("sidecall.hook.failed_open")

    def handler_started(self, session: Session, call: Call) -> None:
        self._spans[call].add_event("sidecall.handler.started")

    def handler_answered(self, session: Session, call: Call) -> None:
        self._spans[call].add_event(
            "sidecall.handler.answered", {"sidecall.result.bytes": call.result_bytes}
        )

    def call_finished(self, session: Session, call: Call) -> None:
        outcome = call.outcome
        assert outcome is not None, "the call has ended"
        span = self._spans.pop(call)
        finished = FinishedCall.of(outcome)
        span.set_attribute("sidecall.outcome", finished.outcome)
        span.set_attribute("sidecall.lifecycle", outcome.lifecycle.value)
        span.set_attribute("sidecall.handler_executed", outcome.handler_executed)
        if isinstance(outcome.result, Aborted):
            span.set_attribute("sidecall.abort.reason", finished.abort_reason)
            span.set_attribute("sidecall.abort.progress", outcome.result.progress.value)
            span.set_attribute("sidecall.abort.teardown", outcome.result.teardown.value)
        if finished.error_type:
            span.set_attribute("error.type", finished.error_type)
            span.set_status(StatusCode.ERROR)
        if self._previews and (preview := log_preview(call)) is not None:
            span.set_attribute("sidecall.log_preview", preview)
        span.end()
