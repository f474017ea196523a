"""What an agent has declared, while changes are on their way."""

from __future__ import annotations

from sidecall.client import Hook, HookInput, Invocation, Tool
from sidecall.client.declared import Change, Declarations, Declared


async def handler(invocation: Invocation) -> str:
    return ""


async def silent(asked: HookInput) -> None:
    return None


OLD, NEW, OTHER = Tool("a", handler), Tool("a", handler, parallel=True), Tool("b", handler)
HOOKS = [Hook("pre_tool_use", silent)]


def tools(declarations: Declarations) -> list[Tool]:
    return list(declarations.tools.values())


def test_a_change_that_is_taken_stays() -> None:
    declared = Declared([OLD], [])
    change = Change([OTHER], [OLD.key], HOOKS)
    declared.change(change)
    assert (tools(declared.now), declared.now.hooks) == ([OTHER], HOOKS), "at once"
    assert (tools(declared.settled), declared.settled.hooks) == ([OLD], [])
    declared.settle(change, taken=True)
    assert declared.settled == declared.now
    assert (tools(declared.now), declared.now.hooks) == ([OTHER], HOOKS)


def test_a_change_that_is_refused_never_was() -> None:
    declared = Declared([OLD], HOOKS)
    change = Change([NEW, OTHER], [], [])
    declared.change(change)
    declared.settle(change, taken=False)
    assert (tools(declared.now), declared.now.hooks) == ([OLD], HOOKS)


def test_a_refused_change_leaves_those_after_it() -> None:
    declared = Declared([OLD], [])
    refused, later = Change([NEW], [], None), Change([OTHER], [], None)
    declared.change(refused)
    declared.change(later)
    declared.settle(refused, taken=False)
    assert tools(declared.now) == [OLD, OTHER]
    declared.settle(later, taken=True)
    assert tools(declared.settled) == [OLD, OTHER]
