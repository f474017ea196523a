"""What the demo prints: each call's five views and what was lost where, in 80 columns."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from sidecall.client import (
    Aborted,
    Attachment,
    CallResult,
    Completed,
    FatalFailure,
    ModelFailure,
    Payload,
    Projections,
    ToolCall,
)

WIDTH = 80
LOG_MARKER = "[... telemetry preview truncated ...]"
MODEL_MARKERS = (" tokens truncated…", " chars truncated…")


def print_call(
    number: int | None, title: str, call: ToolCall, result: CallResult, omitted_bytes: int = 0
) -> None:
    """One call: what became of it, who reads what, what was lost. No number: a side effect."""
    seconds = f"{result.total_seconds or 0:.2f} s"
    head = f"{number or '··':>2} {title}"
    print(f"\n{head[: WIDTH - len(seconds) - 1]:<{WIDTH - len(seconds) - 1}} {seconds}")
    _row("call", f"{flat_name(call)} {_payload(call.payload)}")
    _row("outcome", _outcome(result))
    _row("event", "none" if result.lifecycle == "none" else result.lifecycle)
    views = result.projections
    if views is None:
        _row("views", "none: nothing of it goes to the model")
        return
    _row("log", views.log_preview, "what telemetry keeps")
    _row("model", _model_text(views), "what the next request says")
    _row("hook", None if views.hook is None else views.hook.tool_response_json, "no hook hears")
    _row("script", views.code_mode_json, "what a script gets")
    _row("metric", f"success={str(views.success_for_logging).lower()}")
    lost = _losses(views, omitted_bytes)
    if lost:
        _row("lost", lost)


def print_attachment(outputs: Sequence[tuple[str, str]], attachment: Attachment) -> None:
    """The records that travel with the next request."""
    print(f"\n{'─' * WIDTH}\nThe next model request carries these records of what was attempted:\n")
    for entry in attachment.outputs:
        title, call_id = outputs[entry.output_index]
        print(f"  {call_id:<8} {title}  ({entry.metadata_bytes} B of metadata)")
        for record in entry.executed_tool_calls:
            arguments = json.dumps(record["arguments"], ensure_ascii=False)
            print(_cut(f"           {record['name']} {arguments}"))


def print_paragraph(text: str) -> None:
    """Text, wrapped."""
    print()
    print(textwrap.fill(text, WIDTH))


def flat_name(call: ToolCall) -> str:
    """The name as error texts show it."""
    return f"{call.namespace or ''}{call.name}"


def _row(name: str, text: str | None, otherwise: str = "none") -> None:
    if text is None:
        print(f"   {name:<8} – ({otherwise})")
        return
    size = len(text.encode())
    note = f"  [{size:,} B]" if size > 200 else ""
    line = text if len(text) < 400 else text[:400]
    print(_cut(f"   {name:<8} {_visible(line)}", note) + note)


def _cut(line: str, note: str = "") -> str:
    room = WIDTH - len(note)
    return line if len(line) <= room else line[: room - 1] + "…"


def _visible(text: str) -> str:
    return text.replace("\r", "␍").replace("\n", "⏎")


def _payload(payload: Payload) -> str:
    return str(getattr(payload, "arguments", None) or getattr(payload, "input", ""))


def _outcome(result: CallResult) -> str:
    outcome = result.outcome
    match outcome:
        case Completed(success):
            return f"completed, success={str(success).lower()}"
        case ModelFailure():
            return "model failure: the model may read why"
        case FatalFailure(message):
            return f"fatal, the turn is over: {message}"
        case Aborted(reason, progress, teardown, _):
            return f"aborted: {reason}, {progress}, teardown {teardown}"


def _model_text(views: Projections) -> str | None:
    item = views.response_item
    if item is None:
        return None
    output = item.get("output", item)
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _losses(views: Projections, omitted_bytes: int) -> str:
    losses = []
    if omitted_bytes:
        losses.append(f"collection −{omitted_bytes:,} B")
    text = _model_text(views) or ""
    if any(marker in text for marker in MODEL_MARKERS):
        losses.append(f"model keeps {len(text.encode()):,} B")
    if LOG_MARKER in (views.log_preview or ""):
        losses.append("telemetry cut")
    return " · ".join(losses)
