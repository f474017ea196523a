"""Scenarios: YAML files, read into steps.

A scenario is a transcript: what the suite says to the driver, and what the driver must answer.

    about: what it shows, in a sentence
    sidecar: flags of `sidecall serve`, where it needs others than the default
    steps: each one of
        do: a command of DRIVER.md, with its fields
        event: the event that must come next, with its fields
        any_order: events that must come next, in an order that nobody promised
        network: what happens to the connection (see `network.py`)
        operator: what an operator does meanwhile (see `operator.py`)

An event is compared whole: a field that does not stand here must not be there. What most events
say alike may be left out of the file: `DEFAULTS`, `OUTCOMES`. That something does not happen is
shown by what comes next, for every event must be expected, and none may follow the last step.

`!re REGEX` stands for a text that matches. `!text [[TEXT, TIMES], …]` is a long text, joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.conformance.clients.expected import Json, Pattern

SCENARIOS = Path(__file__).with_name("scenarios")

_CALL: Json = {"turn_id": "turn_1", "call_id": "call_1"}

DEFAULTS: dict[str, Json] = {
    "connect": {"tools": [{"name": "tool"}]},
    "connected": {
        "session_id": Pattern(".+"),
        "resume": "new",
        "effective_tool_mode": "direct",
    },
    "reconnected": {"resume": "resumed"},
    "answer": _CALL,
    "verdict": _CALL | {"verdict": None, "contexts": []},
    "torn_down": _CALL,
    "handler_started": _CALL
    | {"name": "tool", "payload": {"kind": "function", "arguments": "{}"}, "rewritten": False},
    "handler_cancelled": _CALL,
    "hook_started": _CALL | {"tool_name": "tool", "tool_input_json": "{}"},
    "completed": _CALL
    | {
        "dispatch_order": 1,
        "outcome": "completed",
        "handler_executed": True,
        "additional_contexts": [],
    },
    "refused": _CALL | {"message": Pattern(".+"), "field_violations": []},
    "error": {"message": Pattern(".+"), "field_violations": []},
    "detach": {"close": True},
}
"""What a command or event says where the scenario does not."""

DISPATCHED: Json = _CALL | {"name": "tool", "kind": "function"}
"""The call of a `dispatch`; a function call without arguments has `{}`."""

OUTCOMES: dict[str, Json] = {
    "completed": {"lifecycle": "completed", "success": True},
    "model_failure": {"lifecycle": "failed"},
    "fatal": {"lifecycle": "failed"},
    "aborted": {
        "lifecycle": "aborted",
        "reason": "cancelled",
        "progress": "handler_interrupted",
        "teardown": "none",
        "message": Pattern(r"aborted by user after (?P<seconds>\d+\.\d)s"),
    },
}
"""What a `completed` event says of its outcome where the scenario does not."""

KINDS = ("do", "event", "any_order", "network", "operator")


class BadScenario(ValueError):
    """A file that is no scenario."""


@dataclass(frozen=True)
class Step:
    """One step: its kind and its fields, defaults filled in."""

    kind: str
    fields: Json
    events: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A transcript."""

    name: str
    about: str
    sidecar: tuple[str, ...]
    steps: tuple[Step, ...]


def find_scenarios(folder: Path = SCENARIOS) -> list[Scenario]:
    """All scenarios of a folder, by name.

    Raises:
        BadScenario: a file is none.
    """
    return [read_scenario(file) for file in sorted(folder.glob("*.yaml"))]


def read_scenario(file: Path) -> Scenario:
    """One scenario.

    Raises:
        BadScenario: the file is none.
    """
    try:
        read = yaml.load(file.read_text(), _Loader)
        flags = tuple(str(flag) for flag in read.pop("sidecar", ()))
        about, steps = str(read.pop("about")), tuple(_step(step) for step in read.pop("steps"))
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadScenario(f"{file.name}: {type(error).__name__}: {error}") from None
    if read or not steps:
        raise BadScenario(f"{file.name}: {'unknown: ' + ', '.join(read) if read else 'no steps'}")
    return Scenario(file.stem, about, flags, steps)


def _step(step: Json) -> Step:
    kind = next(iter(step))
    if kind not in KINDS:
        raise BadScenario(f"{kind!r} is no step; there are {', '.join(KINDS)}")
    if kind == "any_order":
        return Step(kind, {}, tuple(_event(one) for one in step[kind]))
    if kind == "event":
        return Step(kind, {}, (_event(step),))
    return Step(kind, _command(step) if kind == "do" else step)


def _command(step: Json) -> Json:
    command = DEFAULTS.get(step["do"], {}) | step
    if step["do"] == "dispatch":
        call = DISPATCHED | command["call"]
        if call["kind"] == "function":
            call = {"arguments": "{}"} | call
        command = command | {"call": call}
    return command


def _event(step: Json) -> Json:
    kind = step["event"]
    event = DEFAULTS.get(kind, {}) | step
    if kind == "completed":
        event = OUTCOMES[event["outcome"]] | event
    return event


class _Loader(yaml.SafeLoader):
    """YAML, and the two tags."""


def _pattern(loader: _Loader, node: yaml.ScalarNode) -> Pattern:
    try:
        return Pattern(loader.construct_scalar(node))
    except re.error as error:
        raise yaml.constructor.ConstructorError(
            None, None, f"no regular expression: {error}", node.start_mark
        ) from None


def _text(loader: _Loader, node: yaml.SequenceNode) -> str:
    def parts() -> Iterator[str]:
        for part in loader.construct_sequence(node, deep=True):
            text, times = (part, 1) if isinstance(part, str) else part
            yield text * times

    return "".join(parts())


_Loader.add_constructor("!re", _pattern)
_Loader.add_constructor("!text", _text)
