"""Frames in pieces: put together within bounds, whatever the pieces say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.errors import DomainError, Reason
from sidecall_server.domain.frames import Chunk
from sidecall_server.runtime.transfers import MAX_OPEN, Transfers


def transfers(**limits: int) -> Transfers:
    defaults = {"max_frame_bytes": 100, "max_chunk_bytes": 10, "max_bytes": 150}
    return Transfers(**{**defaults, **limits}, make_room=lambda size_bytes: None)


@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=4), st.randoms())
def test_interleaved_transfers_come_out_whole(frames: list[bytes], random: object) -> None:
    limited = transfers(max_bytes=1000)
    pieces = {
        number: [Chunk(number, len(data), data[at : at + 10]) for at in range(0, len(data), 10)]
        for number, data in enumerate(frames)
    }
    out: dict[int, bytes] = {}
    while pieces:
        number = random.choice(list(pieces))  # type: ignore[attr-defined]
        whole = limited.add(pieces[number].pop(0))
        if not pieces[number]:
            del pieces[number]
            assert whole is not None
            out[number] = whole
        else:
            assert whole is None
    assert [out[number] for number in range(len(frames))] == frames
    assert limited.held_bytes == 0


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        ([Chunk(1, 10, b"")], Reason.INVALID_FIELD),
        ([Chunk(1, 100, b"x" * 11)], Reason.INVALID_FIELD),
        ([Chunk(1, 101, b"x")], Reason.MESSAGE_TOO_LARGE),
        ([Chunk(1, 20, b"x"), Chunk(1, 21, b"x")], Reason.INVALID_FIELD),
        ([Chunk(1, 5, b"x" * 4), Chunk(1, 5, b"xx")], Reason.INVALID_FIELD),
        ([Chunk(1, 0, b"x")], Reason.INVALID_FIELD),
        (
            [Chunk(number, 90, b"x" * 10) for number in range(15)],
            Reason.BUFFER_LIMIT,
        ),
    ],
    ids=["empty", "too long", "too large", "another size", "overlong", "nothing", "too much"],
)
def test_a_piece_that_does_not_fit_ends_its_transfer_only(
    chunks: list[Chunk], reason: Reason
) -> None:
    limited = transfers()
    limited.add(Chunk(99, 2, b"a"))
    for chunk in chunks[:-1]:
        assert limited.add(chunk) is None
    with pytest.raises(DomainError) as refused:
        limited.add(chunks[-1])
    assert refused.value.reason is reason
    assert limited.add(Chunk(99, 2, b"b")) == b"ab"


def test_only_so_many_transfers_are_open() -> None:
    limited = transfers(max_bytes=10_000)
    for number in range(MAX_OPEN):
        limited.add(Chunk(number, 2, b"x"))
    with pytest.raises(DomainError) as refused:
        limited.add(Chunk(1000, 2, b"x"))
    assert refused.value.reason is Reason.BUFFER_LIMIT
    limited.add(Chunk(0, 2, b"x"))
    limited.add(Chunk(1000, 2, b"x"))
