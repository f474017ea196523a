"""The session's last prompt, as this agent told it: the next one is told as a change to it."""

from __future__ import annotations

from collections.abc import Sequence

from sidecall.client.values import Attachment, PromptBase, PromptOutput


class LastPrompt:
    """Remembers the outputs of one prompt."""

    def __init__(self) -> None:
        self._outputs: list[PromptOutput] = []
        self._token = b""

    def base_of(self, outputs: Sequence[PromptOutput]) -> PromptBase | None:
        """What the new prompt begins with; None: nothing of the last one."""
        alike = 0
        for one, other in zip(self._outputs, outputs, strict=False):
            if one != other:
                break
            alike += 1
        return PromptBase(self._token, alike) if alike else None

    def attached(self, outputs: Sequence[PromptOutput], attachment: Attachment) -> None:
        """The prompt is the session's last one now."""
        self._outputs, self._token = list(outputs), attachment.prompt_token
