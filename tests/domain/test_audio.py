"""SPEC E7: what sound costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.audio import audio_tokens

from tests.domain import sounds


@pytest.mark.parametrize(
    ("url", "tokens"),
    [
        (sounds.data_url(sounds.wav(2 * sounds.RATE)), 20),
        (sounds.data_url(sounds.wav(2 * sounds.RATE + 1)), 21),
        (sounds.data_url(sounds.wav(1)), 1),
        (sounds.data_url(sounds.wav(sounds.RATE), "AUDIO/WAV;codecs=1"), 10),
        (sounds.data_url(sounds.mp3(200), "audio/mpeg"), 53),
        (sounds.data_url(sounds.ogg_opus(3 * 48_000), "audio/ogg"), 30),
        (sounds.data_url(sounds.mp4(7), "audio/mp4"), 70),
    ],
)
def test_a_readable_sound_costs_ten_tokens_a_second(url: str, tokens: int) -> None:
    assert audio_tokens(url) == tokens


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.com/sound.wav",
        "data:audio/wav;base64,",
        "data:audio/wav;base64,AAAA",
        "data:audio/wav;base64,not base64!",
        "data:audio/wav;base64,é",
        "data:audio/wav,RIFF",
        "data:audio/webm;base64,GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibQ==",
        sounds.data_url(sounds.wav(0)),
        sounds.data_url(sounds.wav(8000)[:30]),
        sounds.data_url(sounds.ogg_opus(48_000)[:40]),
        sounds.data_url(sounds.ogg_opus(-48_000)),
    ],
)
def test_an_unreadable_sound_costs_as_much_as_its_url(url: str) -> None:
    assert audio_tokens(url) == -(-len(url.encode()) // 4)


@given(
    st.sampled_from(
        [sounds.wav(64), sounds.mp3(3), sounds.ogg_opus(9), sounds.mp4(1), b"fLaC\0\0\0\x22"]
    ),
    st.integers(0, 80),
    st.binary(max_size=24),
)
def test_damaged_sound_never_raises(sound: bytes, offset: int, damage: bytes) -> None:
    damaged = sound[:offset] + damage + sound[offset + len(damage) :]
    assert audio_tokens(sounds.data_url(damaged)) >= 0
