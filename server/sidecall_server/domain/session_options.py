"""What a session says about itself, and what one turn says differently."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from sidecall_server.domain.tool_mode import effective_tool_mode
from sidecall_server.domain.values import Id, ToolMode


class View(StrEnum):
    """A view of an outcome; one that nobody asks for is not computed (R6)."""

    LOG = "log"
    RESPONSE_ITEM = "response_item"
    RESPONSE_ITEM_JSON = "response_item_json"
    HOOK = "hook"
    CODE_MODE = "code_mode"


def _without_repeats(views: tuple[View, ...]) -> tuple[View, ...]:
    return tuple(dict.fromkeys(views))


Views: TypeAlias = Annotated[tuple[View, ...], AfterValidator(_without_repeats)]

ALL_VIEWS: tuple[View, ...] = tuple(View)


class PostHookBlock(StrEnum):
    """What a post hook's block does (F9)."""

    REPLACE_OUTPUT = "replace_output"
    REJECT_RESULT = "reject_result"


@dataclass(frozen=True, slots=True)
class ToolModeOptions:
    """What is asked for; `effective` decides (I5)."""

    model_tool_mode: ToolMode | None = None
    code_mode_feature: bool = False
    code_mode_only_feature: bool = False
    code_mode_available: bool = True
    code_mode_fallback_disabled: bool = False

    @property
    def effective(self) -> ToolMode:
        return effective_tool_mode(
            model_mode=self.model_tool_mode,
            feature_code_mode=self.code_mode_feature,
            feature_code_mode_only=self.code_mode_only_feature,
            provider_available=self.code_mode_available,
            fallback_disabled=self.code_mode_fallback_disabled,
        )


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of a session, defaults filled in."""

    recorder_enabled: bool = True
    tool_mode: ToolModeOptions = ToolModeOptions()
    post_hook_block: PostHookBlock = PostHookBlock.REPLACE_OUTPUT
    mark_external_context: bool = False
    direct_views: Views = (View.RESPONSE_ITEM_JSON,)
    nested_views: Views = (View.CODE_MODE,)
    display_name: Id = ""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a turn says differently from its session; None: as the session."""

    recorder_enabled: bool | None = None
    tool_mode: ToolModeOptions | None = None
