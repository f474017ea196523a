"""SPEC F4, F6, F7, F9, F10: what hooks hear and what they do."""

from __future__ import annotations

import pytest
from sidecall_server.domain.hooks import (
    HookKind,
    PreHookVerdict,
    PreToolUsePayload,
    RewriteError,
    blocked_text,
    combine_pre_verdicts,
    post_hook_block_text,
    pre_tool_use,
    rewrite_payload,
)
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)


def heard(
    name: ToolName, payload: ToolPayload, kind: HookKind = HookKind.DEFAULT
) -> PreToolUsePayload | None:
    return pre_tool_use(ToolCall("c1", name, payload), kind)


@pytest.mark.parametrize(
    ("arguments", "input_json"),
    [
        ('{"b": 1.10, "a": [1e5]}', '{"b":1.10,"a":[1e5]}'),
        ("", "{}"),
        (" \u3000\n", "{}"),
        ("\x1c", '"\\u001c"'),
        ("not json", '"not json"'),
        ("NaN", '"NaN"'),
        ("5", "5"),
    ],
)
def test_a_pre_hook_hears_the_flat_name_and_the_parsed_arguments(
    arguments: str, input_json: str
) -> None:
    assert heard(ToolName("t", "ns::"), FunctionPayload(arguments)) == PreToolUsePayload(
        "ns::t", (), input_json
    )


@pytest.mark.parametrize("kind", list(HookKind))
def test_a_search_is_never_told(kind: HookKind) -> None:
    assert heard(ToolName("t"), ToolSearchPayload("q"), kind) is None


@pytest.mark.parametrize("kind", [kind for kind in HookKind if kind != HookKind.APPLY_PATCH])
def test_free_form_input_is_told_by_the_patch_tool_only(kind: HookKind) -> None:
    assert heard(ToolName("t"), CustomPayload("x"), kind) is None


def test_a_patch_is_told_as_a_write_and_an_edit() -> None:
    expected = PreToolUsePayload("apply_patch", ("Write", "Edit"), '{"command":"*** \\"p\\""}')
    name, kind = ToolName("patcher"), HookKind.APPLY_PATCH
    assert heard(name, CustomPayload('*** "p"'), kind) == expected
    assert heard(name, FunctionPayload('{"input":"*** \\"p\\""}'), kind) == expected


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ('{"command":"ls -la"}', '"ls -la"'),
        ('{"cmd":"ls é"}', '"ls é"'),
        (
            '{"command":["bash","-lc","echo \'x\' y"]}',
            "\"bash -lc 'echo '\\\"'\\\"'x'\\\"'\\\"' y'\"",
        ),
        ('{"command":[]}', '""'),
    ],
)
def test_a_shell_call_is_told_as_its_command(arguments: str, command: str) -> None:
    assert heard(
        ToolName("exec_command"), FunctionPayload(arguments), HookKind.SHELL
    ) == PreToolUsePayload("Bash", (), f'{{"command":{command}}}')


@pytest.mark.parametrize("arguments", ["", "[]", "{}", '{"command":5}', '{"command":["a",5]}', "x"])
def test_a_shell_call_without_a_command_is_not_told(arguments: str) -> None:
    assert heard(ToolName("shell"), FunctionPayload(arguments), HookKind.SHELL) is None


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("mcp__srv__", "echo", "mcp__srv__echo"),
        ("mcp__srv", "echo", "mcp__srv__echo"),
        ("srv__", "__echo", "mcp__srv__echo"),
        ("srv", "echo_", "mcp__srv__echo_"),
        (None, "mcp__srv__echo", "mcp__srv__echo"),
        (None, "echo", "mcp__echo"),
        ("", "_echo", "mcp__echo"),
    ],
)
def test_an_mcp_tool_is_told_by_server_and_tool(
    namespace: str | None, name: str, expected: str
) -> None:
    told = heard(ToolName(name, namespace), FunctionPayload("{}"), HookKind.MCP)
    assert told == PreToolUsePayload(expected, (), "{}")


@pytest.mark.parametrize("namespace", [None, "", "functions", "multi_agent_v1"])
def test_spawning_an_agent_matches_agent_too(namespace: str | None) -> None:
    told = heard(ToolName("spawn_agent", namespace), FunctionPayload("{}"))
    assert told == PreToolUsePayload("spawn_agent", ("Agent",), "{}")


def test_another_server_s_spawn_agent_is_an_ordinary_tool() -> None:
    told = heard(ToolName("spawn_agent", "other__"), FunctionPayload("{}"))
    assert told == PreToolUsePayload("other__spawn_agent", (), "{}")


@pytest.mark.parametrize("name", ["wait", "write_stdin"])
def test_waiting_and_writing_on_have_no_pre_hook(name: str) -> None:
    assert heard(ToolName(name), FunctionPayload("{}")) is None
    assert heard(ToolName(name, "ns__"), FunctionPayload("{}")) is not None


@pytest.mark.parametrize(
    ("name", "input_json", "text"),
    [
        ("t", "{}", "Tool call blocked by PreToolUse hook: r. Tool: t"),
        (
            "t",
            '{"command":"ls"}',
            "Tool call blocked by PreToolUse hook: r. Tool: t",
        ),
        (
            "Bash",
            '{"command":"ls\\n"}',
            "Command blocked by PreToolUse hook: r. Command: ls\n",
        ),
        (
            "apply_patch",
            '{"command":"p"}',
            "Command blocked by PreToolUse hook: r. Command: p",
        ),
        (
            "Bash",
            '{"command":5}',
            "Tool call blocked by PreToolUse hook: r. Tool: Bash",
        ),
        ("Bash", '"ls"', "Tool call blocked by PreToolUse hook: r. Tool: Bash"),
    ],
)
def test_a_block_names_the_tool_or_the_command(name: str, input_json: str, text: str) -> None:
    assert blocked_text(name, input_json, "r") == text


@pytest.mark.parametrize(
    ("input_json", "arguments"),
    [('{ "a" : 1.0 }', '{"a":1.0}'), (' "x" ', '"x"'), ("null", "null")],
)
def test_a_rewrite_replaces_the_arguments_by_any_value(input_json: str, arguments: str) -> None:
    assert rewrite_payload(FunctionPayload("old"), input_json) == FunctionPayload(arguments)


@pytest.mark.parametrize("payload", [CustomPayload("x"), ToolSearchPayload("q")])
def test_only_a_function_payload_can_be_rewritten(payload: ToolPayload) -> None:
    with pytest.raises(RewriteError) as refused:
        rewrite_payload(payload, "{}")
    assert str(refused.value) == "hook input rewrite received unsupported function tool payload"


def verdict(
    context: str = "", rewrite: str | None = None, block: str | None = None
) -> PreHookVerdict:
    return PreHookVerdict((context,) if context else (), rewrite, block)


@pytest.mark.parametrize(
    ("verdicts", "finish_order", "combined"),
    [
        ([], None, PreHookVerdict()),
        (
            [verdict("a", rewrite="1"), verdict("b", block="no"), verdict("c", block="never")],
            None,
            PreHookVerdict(("a", "b", "c"), None, "no"),
        ),
        (
            [verdict(block="first"), verdict(block="second")],
            [1, 0],
            PreHookVerdict(block_reason="first"),
        ),
        ([verdict(rewrite="1"), verdict(rewrite="2")], None, PreHookVerdict(rewrite_json="2")),
        ([verdict(rewrite="1"), verdict(rewrite="2")], [1, 0], PreHookVerdict(rewrite_json="1")),
        (
            [verdict(rewrite="1"), verdict(), verdict(rewrite="3")],
            [2, 0, 1],
            PreHookVerdict(rewrite_json="1"),
        ),
        (
            [verdict(rewrite="1"), verdict("b", block=" \u3000")],
            None,
            PreHookVerdict(("b",), rewrite_json="1"),
        ),
        ([verdict("b", rewrite="1", block="")], None, PreHookVerdict(("b",))),
    ],
)
def test_several_hooks_give_one_verdict(
    verdicts: list[PreHookVerdict], finish_order: list[int] | None, combined: PreHookVerdict
) -> None:
    assert combine_pre_verdicts(verdicts, finish_order) == combined


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "PostToolUse hook blocked the tool result"),
        (["", "\u3000"], "PostToolUse hook blocked the tool result"),
        (["a"], "a"),
        (["a", " ", "b\n"], "a\n\nb\n"),
    ],
)
def test_a_post_hook_s_block_says_its_messages_or_a_default(messages: list[str], text: str) -> None:
    assert post_hook_block_text(messages) == text
