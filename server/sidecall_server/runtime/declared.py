"""What an agent has declared: its tools, its hooks, and the calls that wait for a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sidecall_server.domain.declarations import HookDeclaration, HookPoint, ToolDeclaration
from sidecall_server.domain.errors import Reason, ResourceExhausted
from sidecall_server.domain.frames import HookView, UpdateTools
from sidecall_server.domain.values import ToolName

if TYPE_CHECKING:
    from sidecall_server.runtime.call import Call


class Declared:
    """The declarations of a session, bounded by their number.

    `make_room` is asked before they take more memory; it raises where there is none.
    """

    def __init__(
        self,
        max_declarations: int,
        default_hook_seconds: float,
        make_room: Callable[[int], None],
    ) -> None:
        self._max_declarations = max_declarations
        self._default_hook_seconds = default_hook_seconds
        self._make_room = make_room
        self._hooks: tuple[HookDeclaration, ...] = ()
        self._waiting: dict[ToolName, list[Call]] = {}
        self.tools: dict[ToolName, ToolDeclaration] = {}
        self.hook_points: frozenset[HookPoint] = frozenset()
        """Where any hook is declared."""
        self.held_bytes = 0

    def replace(self, tools: Iterable[ToolDeclaration], hooks: Iterable[HookDeclaration]) -> None:
        """Take tools and hooks in place of those declared before.

        Raises:
            ResourceExhausted: too many (TOOL_LIMIT), or no room for them (BUFFER_LIMIT).
        """
        self._take({tool.tool_name: tool for tool in tools}, tuple(hooks))

    def update(self, update: UpdateTools) -> None:
        """Change what is declared.

        Raises:
            ResourceExhausted: too many (TOOL_LIMIT), or no room for them (BUFFER_LIMIT).
        """
        tools = dict(self.tools)
        for name in update.remove:
            tools.pop(name, None)
        tools.update((tool.tool_name, tool) for tool in update.upsert)
        self._take(tools, self._hooks if update.hooks is None else update.hooks)

    def clear(self) -> None:
        """Forget them, once no call waits for any."""
        self.tools, self._hooks, self.hook_points, self.held_bytes = {}, (), frozenset(), 0

    def hook_timeout(self, point: HookPoint, view: HookView) -> float | None:
        """The time for the hooks that match, seconds; None: none matches."""
        names = (view.tool_name, *view.matcher_aliases)
        times = [
            hook.timeout_seconds or self._default_hook_seconds
            for hook in self._hooks
            if hook.point is point and hook.matches(names)
        ]
        return max(times, default=None)

    def await_tool(self, call: Call) -> None:
        """Tell the call once its tool is ready, or gone."""
        self._waiting.setdefault(call.tool_name, []).append(call)

    def await_no_more(self, call: Call) -> None:
        """The call has ended."""
        waiting = self._waiting.get(call.tool_name)
        if waiting is not None and call in waiting:
            waiting.remove(call)

    def tell_ready(self) -> None:
        """Tell the calls whose tools are ready now, or gone.

        One that ended meanwhile, with its turn, is told too; its machine ignores it.
        """
        for name in list(self._waiting):
            tool = self.tools.get(name)
            if tool is None or tool.ready:
                for call in self._waiting.pop(name):
                    call.tool_ready()

    def _take(
        self, tools: dict[ToolName, ToolDeclaration], hooks: tuple[HookDeclaration, ...]
    ) -> None:
        limit = self._max_declarations
        for count in (len(tools), sum(max(1, len(hook.matchers)) for hook in hooks)):
            if count > limit:
                raise ResourceExhausted(
                    f"{count} tools, or hooks with their matchers, are above max_declarations"
                    f" ({limit}); declare fewer",
                    reason=Reason.TOOL_LIMIT,
                    subject="max_declarations",
                )
        size_bytes = sum(tool.size_bytes for tool in tools.values())
        size_bytes += sum(hook.size_bytes for hook in hooks)
        self._make_room(size_bytes - self.held_bytes)
        self.tools, self._hooks, self.held_bytes = tools, hooks, size_bytes
        self.hook_points = frozenset(hook.point for hook in hooks)
