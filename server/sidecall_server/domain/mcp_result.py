"""The result of a call to an MCP server, and what of it the model reads (SPEC D1-D6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sidecall_server.domain.content import (
    ContentItem,
    EncryptedContent,
    ImageDetail,
    InputAudio,
    InputImage,
    InputText,
)
from sidecall_server.domain.json_shape import as_array, as_string
from sidecall_server.domain.json_text import (
    parse,
    write,
)
from sidecall_server.domain.json_value import JsonValue

DEFAULT_MIME_TYPE = "application/octet-stream"
ENCRYPTED_CONTENT_KEY = "codex/encryptedContent"
IMAGE_DETAIL_KEY = "codex/imageDetail"
_IMAGE_DETAILS: Mapping[object, ImageDetail] = {detail.value: detail for detail in ImageDetail}


class McpResult(Struct, frozen=True):
    """A CallToolResult that was read once. An absent and a null part are the same (D6)."""

    content: Sequence[JsonValue]
    structured_content: JsonValue = None
    is_error: bool | None = None
    meta: JsonValue = None

    @classmethod
    def parse(cls, text: str) -> McpResult:
        """Read the JSON text of a result; keys that it does not have are dropped.

        Raises:
            ValueError: the text is not JSON, or not the JSON of a CallToolResult.
        """
        fields = parse(text)
        if not isinstance(fields, Mapping):
            raise ValueError("must be a JSON object")
        content = as_array(fields.get("content"))
        if content is None:
            raise ValueError("content is required and must be an array")
        is_error = fields.get("isError")
        if is_error is not None and not isinstance(is_error, bool):
            raise ValueError("isError must be true or false")
        return cls(content, fields.get("structuredContent"), is_error, fields.get("_meta"))

    @property
    def success(self) -> bool:
        """Anything but an error is a success (D5)."""
        return self.is_error is not True

    def to_json(self, *, with_meta: bool = True) -> str:
        """The result as compact JSON; a block's own `_meta` always stays (D6, D9)."""
        fields: dict[str, JsonValue] = {"content": self.content}
        if self.structured_content is not None:
            fields["structuredContent"] = self.structured_content
        if self.is_error is not None:
            fields["isError"] = self.is_error
        if with_meta and self.meta is not None:
            fields["_meta"] = self.meta
        return write(fields)

    def to_body(self) -> str | tuple[ContentItem, ...]:
        """What the model reads: items where they say more than text, else JSON (D3, D4)."""
        items = tuple([_item_of(block) for block in self.content])
        if any(isinstance(item, EncryptedContent) for item in items):
            return items
        if self.structured_content is not None:
            return write(self.structured_content)
        if any(not isinstance(item, InputText) for item in items):
            return items
        return write(self.content)


def _item_of(block: JsonValue) -> ContentItem:
    """One content block; what is unknown or malformed is shown as its JSON (D1)."""
    if isinstance(block, Mapping):
        match block.get("type"):
            case "text":
                item = _text_item(block)
            case "image":
                item = _image_item(block)
            case "audio":
                item = _audio_item(block)
            case _:
                item = None
        if item is not None:
            return item
    return InputText(write(block))


def _text_item(block: Mapping[str, JsonValue]) -> ContentItem | None:
    text = as_string(block.get("text"))
    if text is None:
        return None
    if _meta(block, ENCRYPTED_CONTENT_KEY) is True:
        return EncryptedContent(text)
    return InputText(text)


def _image_item(block: Mapping[str, JsonValue]) -> ContentItem | None:
    url = _data_url(block)
    if url is None:
        return None
    detail = as_string(_meta(block, IMAGE_DETAIL_KEY))
    return InputImage(url, _IMAGE_DETAILS.get(detail, ImageDetail.HIGH))


def _audio_item(block: Mapping[str, JsonValue]) -> ContentItem | None:
    url = _data_url(block)
    return None if url is None else InputAudio(url)


def _data_url(block: Mapping[str, JsonValue]) -> str | None:
    """The block's data as a URL; None where the block is malformed (D2)."""
    data = as_string(block.get("data"))
    if data is None or ("mimeType" in block and "mime_type" in block):
        return None
    mime_type = block.get("mimeType", block.get("mime_type"))
    if mime_type is not None and as_string(mime_type) is None:
        return None
    if data.startswith("data:"):
        return data
    return f"data:{DEFAULT_MIME_TYPE if mime_type is None else mime_type};base64,{data}"


def _meta(block: Mapping[str, JsonValue], key: str) -> JsonValue:
    meta = block.get("_meta")
    return meta.get(key) if isinstance(meta, Mapping) else None
