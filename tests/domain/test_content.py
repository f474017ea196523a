"""SPEC A4, B0, B7, E6: content items, their texts and their budget."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.content import (
    ContentItem,
    EncryptedContent,
    ImageDetail,
    InputAudio,
    InputImage,
    InputText,
    items_json,
    script_text_of,
    text_of,
    truncate_items,
)
from sidecall_server.domain.truncation import BytesPolicy, TokensPolicy, TruncationPolicy

from tests.domain import sounds

IMAGE = InputImage("i")
ENCRYPTED = EncryptedContent("e")
SECOND = InputAudio(sounds.data_url(sounds.wav(sounds.RATE)))
"""Ten tokens of sound."""


def texts(*parts: str) -> tuple[InputText, ...]:
    return tuple(map(InputText, parts))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (InputText('a"\n'), r'{"type":"input_text","text":"a\"\n"}'),
        (IMAGE, '{"type":"input_image","image_url":"i"}'),
        (
            InputImage("i", ImageDetail.ORIGINAL),
            '{"type":"input_image","image_url":"i","detail":"original"}',
        ),
        (InputAudio("é"), '{"type":"input_audio","audio_url":"é"}'),
        (ENCRYPTED, '{"type":"encrypted_content","encrypted_content":"e"}'),
    ],
)
def test_an_item_is_written_with_its_type_first(item: ContentItem, expected: str) -> None:
    assert item.to_json() == expected


def test_items_are_written_as_an_array() -> None:
    assert items_json([]) == "[]"
    assert json.loads(items_json([IMAGE, ENCRYPTED])) == [
        {"type": "input_image", "image_url": "i"},
        {"type": "encrypted_content", "encrypted_content": "e"},
    ]


def test_the_text_of_items_leaves_out_blanks_but_not_separators() -> None:
    assert text_of([*texts("a", " \u3000", "\x1c"), IMAGE, *texts("b")]) == "a\n\x1c\nb"


def test_items_without_text_have_none() -> None:
    assert text_of([IMAGE, InputText(" ")]) is None


def test_a_script_sees_texts_and_urls_but_nothing_encrypted() -> None:
    items: list[ContentItem] = [
        InputText("t"),
        IMAGE,
        InputAudio("a"),
        ENCRYPTED,
        InputText(" "),
        InputImage("\n"),
    ]
    assert script_text_of(items) == "t\ni\na"
    assert script_text_of([ENCRYPTED]) == ""


@pytest.mark.parametrize(
    ("items", "policy", "expected"),
    [
        ((), BytesPolicy(0), ()),
        (texts("ab", "cd"), BytesPolicy(4), texts("ab", "cd")),
        (
            texts("ab", "cdef", "g", "h"),
            BytesPolicy(4),
            texts("ab", "c…2 chars truncated…f", "[omitted 2 text items ...]"),
        ),
        (
            texts("abcde", "abcde", "x"),
            TokensPolicy(3),
            texts("abcde", "ab…1 tokens truncated…de", "[omitted 1 text items ...]"),
        ),
        (texts("ab", ""), BytesPolicy(2), texts("ab", "[omitted 1 text items ...]")),
        (texts("", "ab"), BytesPolicy(2), texts("", "ab")),
        (texts("a"), TokensPolicy(0), texts("[omitted 1 text items ...]")),
        (
            (IMAGE, InputText("abc"), ENCRYPTED),
            BytesPolicy(0),
            (IMAGE, ENCRYPTED, InputText("[omitted 1 text items ...]")),
        ),
        ((SECOND,), TokensPolicy(10), (SECOND,)),
        ((SECOND,), BytesPolicy(40), (SECOND,)),
        ((SECOND,), BytesPolicy(39), texts("[omitted 1 audio items ...]")),
        (
            (SECOND, InputText("abcd"), SECOND, SECOND),
            TokensPolicy(21),
            (SECOND, InputText("abcd"), SECOND, InputText("[omitted 1 audio items ...]")),
        ),
        (
            (SECOND, InputText("abcd"), InputText("x")),
            TokensPolicy(1),
            (
                InputText("abcd"),
                *texts("[omitted 1 text items ...]", "[omitted 1 audio items ...]"),
            ),
        ),
    ],
)
def test_items_keep_to_a_budget(
    items: tuple[ContentItem, ...], policy: TruncationPolicy, expected: tuple[ContentItem, ...]
) -> None:
    assert truncate_items(items, policy) == expected


ITEMS = st.lists(
    st.builds(InputText, st.text(st.sampled_from("aé🙂 "), max_size=12))
    | st.sampled_from([IMAGE, ENCRYPTED, InputAudio("https://sound")]),
    max_size=8,
)


@given(ITEMS, st.integers(0, 60))
def test_the_texts_and_sounds_that_stay_whole_fit_the_budget(
    items: list[ContentItem], budget: int
) -> None:
    policy = BytesPolicy(budget)
    whole = [item for item in truncate_items(items, policy) if item in items]
    spent = sum(len(item.text.encode()) for item in whole if isinstance(item, InputText))
    spent += sum(16 for item in whole if isinstance(item, InputAudio))
    assert spent <= budget


@given(ITEMS, st.integers(0, 60))
def test_images_and_encrypted_content_always_stay(items: list[ContentItem], budget: int) -> None:
    free = [item for item in items if isinstance(item, InputImage | EncryptedContent)]
    kept = truncate_items(items, TokensPolicy(budget))
    assert [item for item in kept if isinstance(item, InputImage | EncryptedContent)] == free
