"""SPEC D1-D6: what an MCP result says to the model."""

from __future__ import annotations

import json

import pytest
from sidecall_server.domain.content import (
    ContentItem,
    EncryptedContent,
    ImageDetail,
    InputAudio,
    InputImage,
    InputText,
)
from sidecall_server.domain.mcp_result import McpResult

HIGH = ImageDetail.HIGH
SOUND = '{"type":"audio","data":"A"}'
"""Keeps a result's items from becoming text (D3)."""


def body(*blocks: str, rest: str = "") -> str | tuple[ContentItem, ...]:
    return McpResult.parse(f'{{"content":[{",".join(blocks)}]{rest}}}').to_body()


@pytest.mark.parametrize(
    ("block", "item"),
    [
        ('{"type":"text","text":"t"}', InputText("t")),
        (
            '{"type":"text","text":"t","_meta":{"codex/encryptedContent":false}}',
            InputText("t"),
        ),
        (
            '{"type":"text","text":"t","_meta":{"codex/encryptedContent":1}}',
            InputText("t"),
        ),
        ('{"type":"text","text":1.50}', InputText('{"type":"text","text":1.50}')),
        ('{"type":"text"}', InputText('{"type":"text"}')),
        ('{"type": "resource", "uri": "u"}', InputText('{"type":"resource","uri":"u"}')),
        ("[1, null]", InputText("[1,null]")),
        ('"s"', InputText('"s"')),
        (
            '{"type":"image","data":"A"}',
            InputImage("data:application/octet-stream;base64,A", HIGH),
        ),
        (
            '{"type":"image","data":"A","mimeType":null}',
            InputImage("data:application/octet-stream;base64,A", HIGH),
        ),
        (
            '{"type":"image","data":"A","mimeType":"image/png"}',
            InputImage("data:image/png;base64,A", HIGH),
        ),
        (
            '{"type":"image","data":"A","mime_type":"image/png"}',
            InputImage("data:image/png;base64,A", HIGH),
        ),
        (
            '{"type":"image","data":"data:x","mimeType":"image/png"}',
            InputImage("data:x", HIGH),
        ),
        (
            '{"type":"image","data":"data:x","mimeType":5}',
            InputText('{"type":"image","data":"data:x","mimeType":5}'),
        ),
        (
            '{"type":"image","data":"A","mimeType":"a","mime_type":"b"}',
            InputText('{"type":"image","data":"A","mimeType":"a","mime_type":"b"}'),
        ),
        ('{"type":"image"}', InputText('{"type":"image"}')),
        ('{"type":"image","data":7}', InputText('{"type":"image","data":7}')),
        (
            '{"type":"image","data":"data:x","_meta":{"codex/imageDetail":"original"}}',
            InputImage("data:x", ImageDetail.ORIGINAL),
        ),
        (
            '{"type":"image","data":"data:x","_meta":{"codex/imageDetail":"Low"}}',
            InputImage("data:x", HIGH),
        ),
        (
            '{"type":"image","data":"data:x","_meta":{"codex/imageDetail":["low"]}}',
            InputImage("data:x", HIGH),
        ),
        ('{"type":"image","data":"data:x","_meta":"low"}', InputImage("data:x", HIGH)),
        (
            '{"type":"audio","data":"A","mimeType":"audio/wav"}',
            InputAudio("data:audio/wav;base64,A"),
        ),
        ('{"type":"audio","data":null}', InputText('{"type":"audio","data":null}')),
    ],
)
def test_each_block_becomes_an_item(block: str, item: ContentItem) -> None:
    assert body(SOUND, block) == (InputAudio("data:application/octet-stream;base64,A"), item)


@pytest.mark.parametrize(
    ("content", "rest", "expected"),
    [
        ("", "", "[]"),
        ('{"type":"text","text":"done"}', "", '[{"type":"text","text":"done"}]'),
        ('{"type":"text","text":"a"}', ',"structuredContent":{"b": 1.0}', '{"b":1.0}'),
        (SOUND, ',"structuredContent":false', "false"),
        (SOUND, ',"structuredContent":"s","isError":true', '"s"'),
    ],
)
def test_a_result_without_media_or_with_structure_is_text(
    content: str, rest: str, expected: str
) -> None:
    assert body(*[content] if content else [], rest=rest) == expected


def test_encrypted_content_comes_before_structured_content() -> None:
    block = '{"type":"text","text":"z","_meta":{"codex/encryptedContent":true}}'
    plain = '{"type":"text","text":"t"}'
    assert body(block, plain, rest=',"structuredContent":{}') == (
        EncryptedContent("z"),
        InputText("t"),
    )


def test_a_null_structure_is_no_structure() -> None:
    assert body(SOUND, rest=',"structuredContent":null') == body(SOUND)


@pytest.mark.parametrize(
    ("flag", "success"), [("", True), (',"isError":null', True), (',"isError":false', True)]
)
def test_only_a_true_error_flag_is_an_error(flag: str, success: bool) -> None:
    assert McpResult.parse(f'{{"content":[]{flag}}}').success is success
    assert not McpResult.parse('{"content":[],"isError":true}').success


def test_a_result_is_written_again_with_what_it_has_and_in_order() -> None:
    text = (
        '{"_meta": {"k": 1e5}, "isError": false, "other": 1, "structuredContent": {}, '
        '"content": [{"_meta": {"m": 1}, "a": -0.0}]}'
    )
    result = McpResult.parse(text)
    assert result.to_json() == (
        '{"content":[{"_meta":{"m":1},"a":-0.0}],"structuredContent":{},"isError":false,'
        '"_meta":{"k":1e5}}'
    )
    assert "k" not in json.loads(result.to_json(with_meta=False)).get("_meta", {})
    assert '"_meta":{"m":1}' in result.to_json(with_meta=False)


def test_null_parts_vanish() -> None:
    text = '{"content":[],"structuredContent":null,"isError":null,"_meta":null}'
    assert McpResult.parse(text).to_json() == '{"content":[]}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Expecting value"),
        ("[]", "object"),
        ("{}", "content"),
        ('{"content":null}', "content"),
        ('{"content":"abc"}', "content"),
        ('{"content":{}}', "content"),
        ('{"content":5}', "content"),
        ('{"content":[],"isError":"true"}', "isError"),
        ('{"content":[],"isError":1}', "isError"),
    ],
)
def test_what_is_no_call_tool_result_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        McpResult.parse(text)
