"""The turn that the demo plays: what the model asks for, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from sidecall.client import (
    Aborted,
    CallResult,
    Completed,
    Custom,
    FatalFailure,
    Function,
    ModelFailure,
    Payload,
    ToolCall,
)

TURN = "turn-1"

PATCH = """\
--- a/greeting.txt
+++ b/greeting.txt
@@ -1 +1 @@
-hello
+hello, sidecall
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the model.

    Args:
        title: what it shows.
        call: the call.
        expected: whether a result is what it must be.
    """

    title: str
    call: ToolCall
    expected: Callable[[CallResult], bool]


def call(
    call_id: str,
    name: str,
    arguments: object = None,
    *,
    payload: Payload | None = None,
    namespace: str | None = None,
    turn_id: str = TURN,
    cell_id: str | None = None,
) -> ToolCall:
    """A call; `arguments` are written as JSON."""
    return ToolCall(
        call_id,
        name,
        payload or Function(json.dumps(arguments)),
        turn_id=turn_id,
        namespace=namespace,
        cell_id=cell_id,
    )


def shell(call_id: str, command: str, turn_id: str = TURN) -> ToolCall:
    """A shell command."""
    return call(call_id, "shell", {"command": command}, turn_id=turn_id)


def shows(text: str, *, success: bool | None = None) -> Callable[[CallResult], bool]:
    """The model reads the text; `success` is the metric's, None: any."""

    def expected(result: CallResult) -> bool:
        views = result.projections
        if not isinstance(result.outcome, Completed) or views is None:
            return False
        right = success is None or result.outcome.success is success
        return right and text in (views.response_item_json or "")

    return expected


def fails(text: str) -> Callable[[CallResult], bool]:
    """The model reads why the call failed."""
    return lambda result: (
        isinstance(result.outcome, ModelFailure) and text in result.outcome.message
    )


def is_torn_down(result: CallResult) -> bool:
    """Cancelled while its process ran, and the process is gone."""
    outcome = result.outcome
    return (
        isinstance(outcome, Aborted)
        and (outcome.reason, outcome.progress) == ("cancelled", "handler_interrupted")
        and outcome.teardown == "done"
    )


def is_fatal(result: CallResult) -> bool:
    """Ends its turn."""
    return isinstance(result.outcome, FatalFailure)


def one_by_one() -> list[Step]:
    """Calls that the model makes one after the other."""
    return [
        Step("a command that succeeds", shell("call_1", "cat greeting.txt"), shows("hello")),
        Step(
            "a command that fails",
            shell("call_2", "ls /nowhere; exit 3"),
            shows("exited with code 3"),
        ),
        Step(
            "a command that floods",
            shell("call_3", "seq 1 400000"),
            shows("tokens truncated…", success=True),
        ),
        Step(
            "a patch",
            call("call_4", "apply_patch", payload=Custom(PATCH)),
            shows("Applied patch greeting.txt cleanly", success=True),
        ),
        Step(
            "arguments that are not JSON",
            call("call_5", "shell", payload=Function('{"command": ls}')),
            fails("failed to parse function arguments"),
        ),
        Step(
            "a tool that nobody has",
            call("call_6", "browse", {"url": "https://example.org"}),
            fails("unsupported call: browse"),
        ),
        Step(
            "a command that a pre hook blocks",
            shell("call_7", "rm -rf build"),
            fails("Command blocked by PreToolUse hook: nothing is deleted here."),
        ),
        Step(
            "an output that a post hook answers",
            shell("call_8", "echo password=hunter2"),
            shows("The output held a password and was withheld."),
        ),
    ]


def in_parallel(repository: str) -> list[Step]:
    """Calls of two MCP servers, made together."""
    return [
        Step(
            "MCP, in parallel: the time",
            call(
                "call_9",
                "get_current_time",
                {"timezone": "Europe/Berlin"},
                namespace="mcp__time__",
            ),
            shows("Europe/Berlin"),
        ),
        Step(
            "MCP, in parallel: the git log",
            call(
                "call_10",
                "git_log",
                {"repo_path": repository, "max_count": 1},
                namespace="mcp__git__",
            ),
            shows("Add a greeting"),
        ),
        Step(
            "MCP, in parallel: a mistake of the model",
            call(
                "call_11",
                "convert_time",
                {"source_timezone": "Mars/Olympus", "time": "12:00", "target_timezone": "UTC"},
                namespace="mcp__time__",
            ),
            shows("Mars/Olympus", success=False),
        ),
    ]
