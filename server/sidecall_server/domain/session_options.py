"""What a session says about itself, and what one turn says differently."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecall_server.domain.fields import set_field
from sidecall_server.domain.tool_mode import effective_tool_mode
from sidecall_server.domain.values import ToolMode, id_faults, refuse


class View(StrEnum):
    """A view of an outcome; one that nobody asks for is not computed (R6)."""

    LOG = "log"
    RESPONSE_ITEM = "response_item"
    RESPONSE_ITEM_JSON = "response_item_json"
    HOOK = "hook"
    CODE_MODE = "code_mode"


ALL_VIEWS: tuple[View, ...] = tuple(View)


class PostHookBlock(StrEnum):
    """What a post hook's block does (F9)."""

    REPLACE_OUTPUT = "replace_output"
    REJECT_RESULT = "reject_result"


class ToolModeOptions(Struct, frozen=True):
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


class SessionOptions(Struct, frozen=True):
    """The options of a session, defaults filled in; each view once."""

    recorder_enabled: bool = True
    tool_mode: ToolModeOptions = ToolModeOptions()
    post_hook_block: PostHookBlock = PostHookBlock.REPLACE_OUTPUT
    mark_external_context: bool = False
    direct_views: tuple[View, ...] = (View.RESPONSE_ITEM_JSON,)
    nested_views: tuple[View, ...] = (View.CODE_MODE,)
    display_name: str = ""

    def __post_init__(self) -> None:
        refuse(id_faults("display_name", self.display_name))
        set_field(self, "direct_views", tuple(dict.fromkeys(self.direct_views)))
        set_field(self, "nested_views", tuple(dict.fromkeys(self.nested_views)))

    def records(self, turn: TurnOptions | None = None) -> bool:
        """Whether calls of the turn are recorded (J1)."""
        enabled = turn.recorder_enabled if turn is not None else None
        return self.recorder_enabled and enabled is not False

    def effective_tool_mode(self, turn: TurnOptions | None = None) -> ToolMode:
        """The tool mode in effect in the turn (I5)."""
        asked = turn.tool_mode if turn is not None else None
        return (self.tool_mode if asked is None else asked).effective


class TurnOptions(Struct, frozen=True):
    """What a turn says differently from its session; None: as the session."""

    recorder_enabled: bool | None = None
    tool_mode: ToolModeOptions | None = None
