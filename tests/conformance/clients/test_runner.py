"""The suite finds what is wrong with a driver, and says where."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients import __main__ as command_line
from tests.conformance.clients import driver, play
from tests.conformance.clients.expected import Captures, Json, Pattern, take, unlike
from tests.conformance.clients.languages import LANGUAGES, BuildFailed, Language
from tests.conformance.clients.network import Network
from tests.conformance.clients.runner import run
from tests.conformance.clients.scenario import (
    BadScenario,
    Scenario,
    find_scenarios,
    read_scenario,
)

FAKE = """
import json, sys

def say(**event):
    print(json.dumps(event), flush=True)

how = sys.argv[1]
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "connect":
        assert command["endpoint"].startswith("unix:///")
        say(event="connected", session_id="s", resume="new", effective_tool_mode="direct")
    elif how == "silent":
        pass
    elif how == "dead":
        sys.exit("out of luck")
    elif how == "garbled":
        print("{", flush=True)
    elif how == "no event":
        print("[]", flush=True)
    else:
        fields = {"wrong": {"reason": "OTHER"}, "chatty": {"reason": "", "more": 1}}
        say(event="error", message="no", field_violations=[], **fields.get(how, {"reason": ""}))
if how == "talks on":
    say(event="detached")
if how == "ends badly":
    sys.exit(3)
"""

SCENARIO = """
about: A fake is asked to dance.
steps:
  - {do: connect}
  - {event: connected}
  - {do: dance}
  - {event: error, reason: ""}
"""


def fake(folder: Path, how: str) -> Language:
    """A language whose driver is a fake."""
    program = folder / "fake.py"
    program.write_text(FAKE)
    return Language(how, sys.executable, "nowhere", lambda _: [sys.executable, str(program), how])


def scenario(folder: Path, text: str = SCENARIO, name: str = "dance") -> Scenario:
    file = folder / f"{name}.yaml"
    file.write_text(text)
    return read_scenario(file)


async def failures(language: Language, *scenarios: Scenario) -> tuple[str, list[str]]:
    """The last line, and what was reported."""
    reported: list[str] = []
    results = await run([language], scenarios, reported.append)
    return str(results), reported


# --- drivers ------------------------------------------------------------------------------


async def test_a_driver_that_does_what_it_must_passes(tmp_path: Path) -> None:
    assert await failures(fake(tmp_path, "right"), scenario(tmp_path)) == ("1 passed, 0 failed", [])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("wrong", "step 4 (event: error): error: reason\n    expected ''\n    got      'OTHER'"),
        ("chatty", "step 4 (event: error): error: more: unexpected: 1"),
        ("silent", "step 4 (event: error): it said nothing for 0.5 s"),
        ("dead", "step 4 (event: error): it ended with status 1"),
        ("garbled", "step 4 (event: error): it wrote a line that is not JSON"),
        ("no event", "step 4 (event: error): it wrote a line that is no event"),
        ("talks on", "after the last step: an event too many: detached"),
        ("ends badly", "after the last step: it ended with status 3"),
    ],
)
async def test_a_driver_that_does_not_fails_and_one_reads_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    if how == "silent":
        monkeypatch.setattr(driver, "EVENT_SECONDS", 0.5)
    last, (reported,) = await failures(fake(tmp_path, how), scenario(tmp_path))
    assert last == "0 passed, 1 failed"
    assert reported.startswith(f"FAILED {how} dance: {said}")
    assert '"do": "connect"}' in reported, "the transcript"
    assert ("!  out of luck" in reported) is (how == "dead"), "what it wrote for people"


async def test_the_others_go_on_after_a_failure(tmp_path: Path) -> None:
    good = scenario(tmp_path, SCENARIO[: SCENARIO.index("  - {do: dance}")], "good")
    last, _ = await failures(fake(tmp_path, "wrong"), scenario(tmp_path), good)
    assert last == "1 passed, 1 failed"


async def test_a_driver_that_cannot_be_made_fails_everything(tmp_path: Path) -> None:
    def build(folder: Path) -> list[str]:
        raise BuildFailed("no compiler")

    language = Language("broken", sys.executable, "nowhere", build)
    last, reported = await failures(language, scenario(tmp_path), scenario(tmp_path, name="b"))
    assert last == "0 passed, 2 failed"
    assert reported == ["FAILED broken: no driver: no compiler"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{operator: session, expect: {state: SESSION_STATE_OPEN}}", "no session 's'"),
        ("{operator: dance}", "an operator cannot 'dance'"),
        ("{network: dance}", "the network cannot 'dance'"),
        ("{network: held, direction: replies}", "step 3 (network: held): TimeoutError"),
    ],
)
async def test_a_step_that_cannot_be_fails_its_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, said: str
) -> None:
    monkeypatch.setattr(play, "EVENT_SECONDS", 0.5)
    text = SCENARIO.replace("{do: dance}", step)
    _, (reported,) = await failures(fake(tmp_path, "right"), scenario(tmp_path, text))
    assert said in reported


async def test_a_real_driver_fails_a_scenario_that_is_wrong(tmp_path: Path) -> None:
    python = LANGUAGES[0]
    text = next(file for file in find_scenarios() if file.name == "function_call")
    file = Path(play.__file__).parent / "scenarios" / f"{text.name}.yaml"
    wrong = scenario(tmp_path, file.read_text().replace("sunny", "rainy", 1))
    last, (reported,) = await failures(python, wrong, text)
    assert last == "1 passed, 1 failed"
    assert "completed: response_item_json" in reported


# --- the command line ---------------------------------------------------------------------


@pytest.fixture
def languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Language("algol", "algol-68", "Algol from the museum", lambda _: [])
    known = (fake(tmp_path, "right"), fake(tmp_path, "wrong"), missing)
    monkeypatch.setattr(command_line, "LANGUAGES", known)
    monkeypatch.setattr(command_line, "find_scenarios", lambda: [scenario(tmp_path)])


@pytest.mark.usefixtures("languages")
def test_a_missing_language_is_an_error_that_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exit_status:
        command_line.main([])
    assert exit_status.value.code == 2
    assert "algol is missing, get Algol from the museum" in capsys.readouterr().err


@pytest.mark.usefixtures("languages")
def test_available_leaves_out_what_is_missing_and_shows_a_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command_line.main(["--available"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4:] == [
        "scenario  right       wrong",
        "dance     passed      FAILED",
        "SKIPPED: algol. To test it, get Algol from the museum",
        "1 passed, 1 failed",
    ]


@pytest.mark.usefixtures("languages")
def test_languages_and_scenarios_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["--language", "right", "--scenario", "dance"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
    assert command_line.main(["--language", "right", "--scenario", "waltz"]) == 2
    assert "there is no scenario 'waltz'" in capsys.readouterr().err


# --- scenarios ----------------------------------------------------------------------------


def test_there_are_scenarios_enough_and_each_says_what_it_shows() -> None:
    scenarios = find_scenarios()
    assert len(scenarios) >= 35
    assert len({one.about for one in scenarios}) == len(scenarios)
    for one in scenarios:
        assert re.fullmatch(r"[A-Z].*\.", one.about), one.name
        assert any(step.kind in ("event", "any_order") for step in one.steps)


def test_what_most_events_say_alike_may_be_left_out(tmp_path: Path) -> None:
    text = """
about: Defaults.
sidecar: [--max-calls-in-flight, 2]
steps:
  - {do: dispatch, call: {call_id: other}}
  - {event: completed, outcome: aborted, teardown: done}
"""
    read = scenario(tmp_path, text)
    assert read.sidecar == ("--max-calls-in-flight", "2")
    dispatch, completed = read.steps
    ids = {"turn_id": "turn_1", "call_id": "other"}
    assert dispatch.fields == {
        "do": "dispatch",
        "call": {**ids, "name": "tool", "kind": "function", "arguments": "{}"},
    }
    (event,) = completed.events
    assert event["reason"] == "cancelled"
    assert event["teardown"] == "done"
    assert "success" not in event


def test_long_texts_and_patterns_have_tags(tmp_path: Path) -> None:
    text = """
about: Tags.
steps:
  - {event: error, reason: !text [a, [bc, 3], d], message: !re 'a+'}
"""
    ((event,),) = [step.events for step in scenario(tmp_path, text).steps]
    assert event["reason"] == "abcbcbcd"
    assert isinstance(event["message"], Pattern)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "about: a",
        "about: a\nsteps: []",
        "about: a\nsteps: [{dance: now}]",
        "about: a\nsteps: [{do: dispatch}]",
        "about: a\nsteps: [{event: completed, outcome: odd}]",
        "about: a\nmore: b\nsteps: [{do: a}]",
        "about: a\nsteps: [{event: error, message: !re '('}]",
    ],
)
def test_a_file_that_is_no_scenario_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadScenario, match=r"dance\.yaml"):
        scenario(tmp_path, text)


# --- expectations -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "actual", "alike"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {}, False),
        ({}, {"a": None}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": [Pattern("b+")]}, {"a": ["bb"]}, True),
        ({"a": [Pattern("b+")]}, {"a": []}, False),
        ({"a": Pattern("b+")}, {"a": "abb"}, False),
        ({"a": Pattern("b.")}, {"a": "b\n"}, True),
        ({"a": Pattern(".*")}, {"a": None}, False),
        ({"a": Pattern(".*")}, {}, False),
        ({"a": Pattern("(?P<x>.)"), "b": Pattern("(?P<x>.)")}, {"a": "1", "b": "1"}, True),
        ({"a": Pattern("(?P<x>.)"), "b": Pattern("(?P<x>.)")}, {"a": "1", "b": "2"}, False),
    ],
)
def test_events_are_compared_exactly_but_for_patterns(
    expected: Json, actual: Json, alike: bool
) -> None:
    assert (unlike(expected, actual, {}) is None) is alike


def test_what_a_pattern_caught_holds_for_the_scenario_and_only_if_the_event_is_right() -> None:
    captures: Captures = {}
    expected: Json = {"a": Pattern("(?P<x>.)"), "b": 1}
    assert unlike(expected, {"a": "1", "b": 2}, captures) is not None
    assert captures == {}
    assert unlike(expected, {"a": "2", "b": 1}, captures) is None
    assert unlike(expected, {"a": "3", "b": 1}, captures) is not None


def test_in_any_order_each_event_comes_once() -> None:
    expected: list[Json] = [{"event": "a", "n": 1}, {"event": "a", "n": 2}]
    assert take(expected, {"event": "a", "n": 2}, {}) is None
    assert take(expected, {"event": "a", "n": 2}, {}) == "n\n    expected 1\n    got      2"
    assert take(expected, {"event": "b"}, {}) == "expected one of [('a',)]"


@pytest.mark.parametrize("one", find_scenarios(), ids=lambda one: one.name)
def test_no_field_of_an_event_can_be_left_out_or_changed(one: Scenario) -> None:
    for step in one.steps:
        for event in step.events:
            for field in event:
                missing = {name: value for name, value in event.items() if name != field}
                assert unlike(event, missing, {}) is not None
                assert unlike(event, {**event, field: object()}, {}) is not None


# --- the network --------------------------------------------------------------------------


@pytest.fixture
async def network(tmp_path: Path) -> AsyncIterator[Network]:
    """A network in front of a server that says everything twice."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data * 2)
        writer.close()

    server = await asyncio.start_unix_server(serve, tmp_path / "far")
    between = Network(tmp_path / "near", tmp_path / "far")
    await between.open()
    yield between
    await between.close()
    server.close()


async def connected(network: Network) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(network.endpoint.removeprefix("unix://"))


async def test_the_network_passes_bytes_until_it_is_cut(network: Network) -> None:
    reader, writer = await connected(network)
    writer.write(b"ab")
    assert await reader.readexactly(4) == b"abab"
    await network.do({"network": "cut"})
    assert await reader.read(1) == b""
    writer.close()
    reader, writer = await connected(network)
    writer.write(b"c")
    assert await reader.readexactly(2) == b"cc"
    writer.close()


@pytest.mark.parametrize("direction", ["requests", "replies"])
async def test_the_network_holds_one_direction(network: Network, direction: str) -> None:
    reader, writer = await connected(network)
    await network.do({"network": "hold", "direction": direction, "after_bytes": 2})
    writer.write(b"abc")
    passed = b"abab" if direction == "requests" else b"ab"
    assert await reader.readexactly(len(passed)) == passed
    await network.do({"network": "held", "direction": direction, "at_least": 1})
    writer.close()


async def test_nobody_connects_while_the_network_is_away(network: Network) -> None:
    await network.do({"network": "away"})
    with pytest.raises(FileNotFoundError):
        await connected(network)
    await network.do({"network": "back"})
    reader, writer = await connected(network)
    writer.write(b"d")
    assert await reader.readexactly(2) == b"dd"
    writer.close()


def test_every_language_says_how_to_get_it() -> None:
    names: list[Any] = [language.name for language in LANGUAGES]
    assert names == ["python", "go", "rust", "typescript"]
    assert all(language.get for language in LANGUAGES)
