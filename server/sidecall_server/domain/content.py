"""The content items of an output (SPEC A4): their text, their JSON, their budget (E6)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.audio import audio_tokens
from sidecall_server.domain.json_text import quote
from sidecall_server.domain.truncation import TruncationPolicy, is_blank, truncate


class ImageDetail(StrEnum):
    """How closely a model looks at an image."""

    AUTO = "auto"
    LOW = "low"
    HIGH = "high"
    ORIGINAL = "original"


class InputText(Struct, frozen=True):
    """Text for the model."""

    text: str

    def to_json(self) -> str:
        return f'{{"type":"input_text","text":{quote(self.text)}}}'


class InputImage(Struct, frozen=True):
    """An image for the model; without a detail its JSON has no such key."""

    image_url: str
    detail: ImageDetail | None = None

    def to_json(self) -> str:
        detail = "" if self.detail is None else f',"detail":"{self.detail}"'
        return f'{{"type":"input_image","image_url":{quote(self.image_url)}{detail}}}'


class InputAudio(Struct, frozen=True):
    """Sound for the model."""

    audio_url: str

    def to_json(self) -> str:
        return f'{{"type":"input_audio","audio_url":{quote(self.audio_url)}}}'


class EncryptedContent(Struct, frozen=True):
    """Content that only the model's provider can read."""

    encrypted_content: str

    def to_json(self) -> str:
        return f'{{"type":"encrypted_content","encrypted_content":{quote(self.encrypted_content)}}}'


ContentItem: TypeAlias = InputText | InputImage | InputAudio | EncryptedContent


def items_json(items: Sequence[ContentItem]) -> str:
    """The items as a JSON array."""
    return f"[{','.join([item.to_json() for item in items])}]"


def text_of(items: Sequence[ContentItem]) -> str | None:
    """The non-blank texts, one under the other; None where there is none (B0)."""
    texts = [item.text for item in items if isinstance(item, InputText) and not is_blank(item.text)]
    return "\n".join(texts) if texts else None


def script_text_of(items: Sequence[ContentItem]) -> str:
    """What a script sees: non-blank texts and URLs, one under the other (B7)."""
    parts = [_script_part(item) for item in items]
    return "\n".join([part for part in parts if not is_blank(part)])


def truncate_items(
    items: Sequence[ContentItem], policy: TruncationPolicy
) -> tuple[ContentItem, ...]:
    """Keep what fits the budget, in order, and say how many items were left out (E6).

    The text that exceeds what remains is cut and takes it all. Images and encrypted content
    cost nothing. Sound is kept whole or left out, and what is left out costs nothing.
    """
    remaining = policy.amount
    kept: list[ContentItem] = []
    omitted_texts = omitted_audio = 0
    for item in items:
        if isinstance(item, InputText):
            cost = policy.cost(item.text)
            if remaining == 0:
                omitted_texts += 1
            elif cost <= remaining:
                kept.append(item)
                remaining -= cost
            else:
                kept.append(InputText(truncate(item.text, policy.of(remaining))))
                remaining = 0
        elif isinstance(item, InputAudio):
            cost = policy.cost_of_tokens(audio_tokens(item.audio_url))
            if cost <= remaining:
                kept.append(item)
                remaining -= cost
            else:
                omitted_audio += 1
        else:
            kept.append(item)
    for omitted, what in ((omitted_texts, "text"), (omitted_audio, "audio")):
        if omitted:
            kept.append(InputText(f"[omitted {omitted} {what} items ...]"))
    return tuple(kept)


def _script_part(item: ContentItem) -> str:
    if isinstance(item, InputText):
        return item.text
    if isinstance(item, InputImage):
        return item.image_url
    if isinstance(item, InputAudio):
        return item.audio_url
    return ""
