"""``sidecall inspect``: what it shows of sessions and calls, against canned answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from sidecall.v1 import call_outcome_pb2 as outcomes
from sidecall.v1 import runtime_service_pb2 as runtime
from sidecall.v1 import runtime_service_pb2_grpc as runtime_rpcs
from sidecall.v1 import session_service_pb2 as sessions
from sidecall.v1 import session_service_pb2_grpc as session_rpcs
from sidecall.v1 import tool_call_pb2 as calls
from sidecall_server.app.commands import inspect
from sidecall_server.app.commands.inspect import run

ESCAPE = "\x1b[2J"


def session(session_id: str, **fields: Any) -> sessions.Session:
    shown = sessions.Session(
        session_id=session_id,
        state=sessions.SESSION_STATE_ATTACHED,
        effective_tool_mode=calls.TOOL_MODE_DIRECT,
        **fields,
    )
    shown.create_time.FromJsonString("2026-01-02T03:04:05Z")
    return shown


def call(call_id: str, **fields: Any) -> outcomes.ToolCallStatus:
    return outcomes.ToolCallStatus(
        session_id="s",
        call=outcomes.CallReference(turn_id="t", call_id=call_id),
        tool_name=calls.ToolName(namespace="mcp__", name="read"),
        **fields,
    )


RUNNING = call("c0", phase=outcomes.CALL_PHASE_HANDLER)
DONE = call(
    "c1",
    phase=outcomes.CALL_PHASE_TERMINAL,
    outcome=outcomes.CallOutcome(completed=outcomes.CompletedOutcome(success=True)),
)
UNSUCCESSFUL = call(
    "c2",
    phase=outcomes.CALL_PHASE_TERMINAL,
    outcome=outcomes.CallOutcome(completed=outcomes.CompletedOutcome(success=False)),
)
FAILED = call(
    "c3",
    phase=outcomes.CALL_PHASE_TERMINAL,
    outcome=outcomes.CallOutcome(
        model_failure=outcomes.ModelFailureOutcome(message="unsupported call: read")
    ),
)
TIMED_OUT = call(
    "c4",
    phase=outcomes.CALL_PHASE_TERMINAL,
    outcome=outcomes.CallOutcome(
        aborted=outcomes.AbortedOutcome(
            reason=outcomes.ABORT_REASON_TIMED_OUT,
            progress=outcomes.ABORT_PROGRESS_HANDLER_INTERRUPTED,
            message="timed out after 1.0s",
        ),
        handler_executed=True,
    ),
)
NEWER = call("c5")
NEWER.phase = 99  # type: ignore[assignment]  # what a newer server may send
CALLS = (RUNNING, DONE, UNSUCCESSFUL, FAILED, TIMED_OUT, NEWER)


class CannedSidecar(session_rpcs.SessionServiceServicer, runtime_rpcs.RuntimeServiceServicer):
    """Answers with what a test put in; pages have two entries."""

    page_size = 2

    def __init__(self) -> None:
        self.sessions: list[sessions.Session] = []
        self.calls: list[outcomes.ToolCallStatus] = list(CALLS)
        self.address = ""

    def ListSessions(self, request: Any, context: Any) -> sessions.ListSessionsResponse:
        start = int(request.page_token or 0)
        end = start + self.page_size
        more = str(end) if end < len(self.sessions) else ""
        return sessions.ListSessionsResponse(
            sessions=self.sessions[start:end], next_page_token=more
        )

    def GetSession(self, request: Any, context: Any) -> sessions.GetSessionResponse:
        found = [one for one in self.sessions if one.session_id == request.session_id]
        return sessions.GetSessionResponse(session=found[0])

    def ListToolCalls(self, request: Any, context: Any) -> runtime.ListToolCallsResponse:
        start = int(request.page_token or 0)
        end = start + self.page_size
        page = [runtime.GetToolCallResponse(call=one) for one in self.calls[start:end]]
        more = str(end) if end < len(self.calls) else ""
        return runtime.ListToolCallsResponse(calls=page, next_page_token=more)

    def GetToolCall(self, request: Any, context: Any) -> runtime.GetToolCallResponse:
        found = [one for one in self.calls if one.call == request.call]
        return runtime.GetToolCallResponse(call=found[0])


@pytest.fixture
def sidecar(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedSidecar]:
    canned = CannedSidecar()  # type: ignore[abstract]  # the rest answers UNIMPLEMENTED
    with futures.ThreadPoolExecutor(max_workers=1) as pool:
        server = grpc.server(pool)
        session_rpcs.add_SessionServiceServicer_to_server(canned, server)
        runtime_rpcs.add_RuntimeServiceServicer_to_server(canned, server)
        address = f"unix://{folder}/a.sock"
        server.add_insecure_port(address)
        server.start()
        monkeypatch.setenv("SIDECALL_ENDPOINT", address)
        yield canned
        server.stop(None).wait()


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def test_sessions_are_a_table(sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]) -> None:
    options = sessions.SessionOptions(display_name="my agent")
    sidecar.sessions = [session("s", open_calls=1, terminal_calls=20, options=options)]

    assert shown(capsys, "sessions").splitlines() == [
        "SESSION  STATE     OPEN  ENDED  CREATED (UTC)        NAME",
        "s        attached  1     20     2026-01-02 03:04:05  my agent",
    ]


def test_all_pages_are_shown(sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]) -> None:
    sidecar.sessions = [session(f"s{number}") for number in range(5)]

    shown_ids = [line.split()[0] for line in shown(capsys, "sessions").splitlines()[1:]]

    assert shown_ids == ["s0", "s1", "s2", "s3", "s4"]


def test_a_session_is_shown_with_its_losses_and_calls(
    sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = sessions.RecorderLosses(direct_marked=3, budget_omitted=1)
    sidecar.sessions = [session("s", recorder_losses=losses)]
    sidecar.calls = [DONE]

    text = shown(capsys, "session", "s")

    assert "records lost   direct_marked 3, budget_omitted 1" in text
    assert text.splitlines()[-2:] == [
        "TURN  CALL  TOOL       STATE      SECONDS",
        "t     c1    mcp__read  completed",
    ]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (RUNNING, "handler"),
        (DONE, "completed"),
        (UNSUCCESSFUL, "completed, no success"),
        (FAILED, "model failure"),
        (TIMED_OUT, "timed out"),
        (NEWER, "99"),
    ],
)
def test_a_call_says_how_it_stands(
    status: outcomes.ToolCallStatus,
    state: str,
    sidecar: CannedSidecar,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = shown(capsys, "call", "s", "t", status.call.call_id)

    assert dict(line.split("  ", 1) for line in text.splitlines())["state"].strip() == state


def test_an_aborted_call_says_why_and_how_far_it_got(
    sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, "call", "s", "t", "c4")

    for words in ("timed out after 1.0s", "handler interrupted", "started"):
        assert words in text


@pytest.mark.parametrize(
    "command", [("sessions",), ("session", "s" * 512), ("call", "s", "t", "x")]
)
def test_long_and_hostile_names_neither_leave_80_columns_nor_reach_the_terminal(
    command: tuple[str, ...], sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    options = sessions.SessionOptions(display_name=ESCAPE + "n" * 500)
    sidecar.sessions = [session("s" * 512, options=options)]
    hostile = call("x", cell_id=ESCAPE + "c" * 500)
    hostile.tool_name.name = ESCAPE + "\n" + "n" * 8000
    sidecar.calls = [hostile]

    text = shown(capsys, *command)

    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("command", [("sessions",), ("session", "s"), ("call", "s", "t", "c1")])
def test_json_is_what_the_server_said(
    command: tuple[str, ...], sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    sidecar.sessions = [session("s"), session("s2"), session("s3")]

    value = json.loads(shown(capsys, "--json", *command))

    match command[0]:
        case "sessions":
            assert [entry["session_id"] for entry in value] == ["s", "s2", "s3"]
        case "session":
            assert value["session"]["session_id"] == "s"
            assert [entry["call"]["call_id"] for entry in value["calls"]] == [
                one.call.call_id for one in CALLS
            ]
        case _:
            assert value["outcome"] == {"completed": {"success": True}}


def test_no_sessions_are_said_in_words_and_as_an_empty_list(
    sidecar: CannedSidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, "sessions") == "no sessions\n"
    assert shown(capsys, "sessions", "--json") == "[]\n"


@pytest.mark.parametrize("command", [("sessions", "x"), ("session",), ("call", "s", "t")])
def test_the_wrong_number_of_ids_is_refused(command: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as refusal:
        inspect.run(command)

    assert refusal.value.code == 2
