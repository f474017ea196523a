"""The blocking client: sessions, recorder, projections, errors."""

from __future__ import annotations

import os

import pytest
from sidecall.client import (
    AlreadyExistsError,
    CallReference,
    Client,
    ContentItem,
    Custom,
    Endpoint,
    ExecCommandOutput,
    FieldViolation,
    Function,
    FunctionOutput,
    Image,
    InvalidArgumentError,
    JsonOutput,
    NotFoundError,
    PromptOutput,
    SessionOptions,
    Text,
    Tokens,
    ToolCall,
    ToolSearch,
    TurnOptions,
    UnavailableError,
)
from sidecall_server.app.sockets import default_socket_path, unix_address


def call(call_id: str = "c", turn_id: str = "t") -> ToolCall:
    return ToolCall(call_id, "echo", Function('{"n":1}'), turn_id=turn_id)


def test_a_recorded_call_comes_back_with_the_next_prompt(client: Client) -> None:
    session = client.create_session().session_id
    assert client.record_tool_call(session, call()) == "recorded"
    assert client.record_tool_call(session, call()) == "duplicate"
    outputs = [PromptOutput("function", "c", "t")]
    attachment = client.attach(session, "request", outputs, "t")
    assert attachment.attached
    (entry,) = attachment.outputs
    assert entry.executed_tool_calls == [{"name": "echo", "arguments": {"n": 1}}]
    assert client.attach(session, "request", outputs, "t") == attachment
    assert client.end_turn(session, "t") == 0
    assert client.delete_session(session) == 0


def test_what_a_script_called_goes_to_the_output_of_its_cell(client: Client) -> None:
    session = client.create_session().session_id
    nested = ToolCall("exec-1", "echo", Function("{}"), turn_id="t", cell_id="cell")
    client.record_tool_call(session, nested)
    assert client.register_cell(session, "cell", "c", "t")
    attachment = client.attach(session, "r", [PromptOutput("custom", "c", "t")])
    assert attachment.outputs[0].executed_tool_calls == [{"name": "echo", "arguments": {}}]


def test_a_session_without_recorder_says_so(client: Client) -> None:
    options = SessionOptions(recorder_enabled=False)
    session = client.create_session(options=options).session_id
    assert client.record_tool_call(session, call()) == "disabled"
    other = client.create_session().session_id
    assert client.record_tool_call(other, call(), TurnOptions(recorder_enabled=False)) == "disabled"


def test_the_mode_in_effect_decides_what_is_skipped(client: Client) -> None:
    session = client.create_session(options=SessionOptions(model_tool_mode="code_mode"))
    assert session.effective_tool_mode == "code_mode"
    wrapper = ToolCall("c", "exec", Custom("1"), turn_id="t")
    assert client.record_tool_call(session.session_id, wrapper) == "skipped"


def test_an_output_has_five_views(client: Client) -> None:
    content: list[ContentItem] = [Text("hi"), Image("data:image/png;base64,AA==", "low")]
    views = client.project_tool_output(call(), FunctionOutput(content))
    assert views.log_preview == "hi"
    assert views.response_item["output"][1] == {
        "type": "input_image",
        "image_url": "data:image/png;base64,AA==",
        "detail": "low",
    }
    assert views.hook is not None
    assert (views.hook.tool_name, views.hook.tool_input_json) == ("echo", '{"n":1}')
    assert views.code_mode_json is not None
    assert views.success_for_logging


def test_views_that_are_not_wanted_are_not_made(client: Client) -> None:
    views = client.project_tool_output(call(), JsonOutput.of([1]), views=["code_mode"])
    assert views.code_mode_json == "[1]"
    assert views.response_item is None
    assert views.log_preview is None


def test_a_command_s_output_and_its_feedback(client: Client) -> None:
    output = ExecCommandOutput(b"out\xff", exit_code=1, wall_time_seconds=1.5)
    views = client.project_tool_output(call(), output, feedback="look again")
    assert views.response_item["output"] == "look again"
    assert "out\ufffd" in (views.log_preview or "")


def test_a_tool_search_has_its_own_kind(client: Client) -> None:
    search = ToolCall("c", "tool_search", ToolSearch("files", 3), turn_id="t")
    session = client.create_session().session_id
    assert client.record_tool_call(session, search) == "recorded"


def test_text_is_cut_in_the_middle(client: Client) -> None:
    assert client.truncate_text("example output", Tokens(1)) == "ex…3 tokens truncated…ut"
    assert client.truncate_text(b"short", Tokens(10), formatted=True) == "short"


def test_an_error_says_where_and_why(client: Client) -> None:
    session = client.create_session("taken").session_id
    with pytest.raises(AlreadyExistsError) as taken:
        client.create_session(session)
    assert taken.value.reason == "SESSION_ALREADY_EXISTS"
    with pytest.raises(NotFoundError) as unknown:
        client.get_session("nobody")
    assert unknown.value.reason == "SESSION_NOT_FOUND"
    with pytest.raises(InvalidArgumentError) as bad:
        client.record_tool_call(session, call(""))
    (violation,) = bad.value.field_violations
    assert isinstance(violation, FieldViolation)
    assert violation.field == "call.call_id"
    assert "call.call_id" in str(bad.value)


def test_a_cancel_of_an_unknown_call_is_no_error(client: Client) -> None:
    from sidecall.client import CallReference

    session = client.create_session().session_id
    reference = CallReference("t", "c")
    assert client.cancel(session, calls=[reference]) == {reference: "unknown"}
    assert client.cancel(session, turn_id="t") == {}


def test_the_version_is_told(client: Client) -> None:
    assert client.server_version() == "1.2.3"


def test_a_sidecar_that_is_not_there_is_unavailable() -> None:
    with Client(Endpoint("unix:///nowhere/s.sock")) as lost, pytest.raises(UnavailableError):
        lost.server_version()


def test_the_endpoint_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECALL_ENDPOINT", "unix:///run/s.sock")
    monkeypatch.setenv("SIDECALL_TOKEN", "secret")
    found = Endpoint.find()
    assert found.address == "unix:///run/s.sock"
    assert found.metadata == (("authorization", "Bearer secret"),)


@pytest.mark.parametrize("runtime_folder", ["/run/user/1 2", "relative", None])
def test_without_a_word_it_is_where_the_sidecar_listens_by_default(
    monkeypatch: pytest.MonkeyPatch, runtime_folder: str | None
) -> None:
    monkeypatch.delenv("SIDECALL_ENDPOINT", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime_folder is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime_folder)
    assert Endpoint.find().address == unix_address(default_socket_path(os.environ))


def test_a_call_that_is_not_kept_is_not_found(client: Client) -> None:
    session_id = client.create_session().session_id
    with pytest.raises(NotFoundError) as unknown:
        client.get_tool_call(session_id, CallReference("t", "never"))
    assert unknown.value.reason == "CALL_NOT_FOUND"
