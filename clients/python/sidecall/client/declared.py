"""What an agent has declared: what the server has for certain, and the changes on their way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sidecall.client import messages
from sidecall.client.declarations import hook_declarations, tool_declarations
from sidecall.client.link import Place
from sidecall.client.tools import Hook, Tool
from sidecall.v1 import runtime_stream_pb2 as pb

Key: TypeAlias = tuple[str | None, str]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One UpdateTools; `hooks` None: they stay."""

    upsert: Sequence[Tool]
    remove: Sequence[Key]
    hooks: Sequence[Hook] | None
    place: Place = field(default_factory=Place)

    def frame(self) -> pb.ClientFrame:
        """The frame that tells the server.

        Raises:
            ValueError: a declaration has a value that is none.
        """
        hooks = self.hooks
        update = pb.UpdateTools(
            upsert=tool_declarations(self.upsert),
            remove=[messages.tool_name(name, namespace) for namespace, name in self.remove],
            hooks=None if hooks is None else pb.HookDeclarations(hooks=hook_declarations(hooks)),
        )
        return pb.ClientFrame(update_tools=update)


@dataclass(frozen=True, slots=True)
class Declarations:
    """Tools by their full name, and hooks."""

    tools: Mapping[Key, Tool]
    hooks: Sequence[Hook]

    def after(self, change: Change) -> Declarations:
        """As they are with the change."""
        tools = {key: tool for key, tool in self.tools.items() if key not in change.remove}
        tools |= {tool.key: tool for tool in change.upsert}
        return Declarations(tools, self.hooks if change.hooks is None else change.hooks)


class Declared:
    """A change holds from the moment it is made; one that is refused never was."""

    def __init__(self, tools: Iterable[Tool], hooks: Sequence[Hook]) -> None:
        self.settled = Declarations({tool.key: tool for tool in tools}, hooks)
        """What the server has taken."""
        self.now = self.settled
        """With the changes on their way."""
        self.changes: list[Change] = []
        """Those on their way, in order."""

    def change(self, change: Change) -> None:
        """A change is on its way."""
        self.changes.append(change)
        self.now = self.now.after(change)

    def settle(self, change: Change, taken: bool) -> None:
        """The server has taken a change, or refused it. It answers them in their order."""
        self.changes.remove(change)
        if taken:
            self.settled = self.settled.after(change)
        self.now = self.settled
        for other in self.changes:
            self.now = self.now.after(other)
