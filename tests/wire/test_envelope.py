"""The message of the stream with its frames as bytes, as protobuf itself reads and writes it."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.frames import Envelope
from sidecall_server.domain.limits import MAX_UINT64
from sidecall_server.wire.envelope import open_envelope, seal_envelope
from sidecall_server.wire.raw_message import BYTES, MANY, ONE, UINT64, raw_message

SHAPE = raw_message(
    "AnyRequest",
    (("sequence", 1, UINT64, ONE), ("acknowledged", 2, UINT64, ONE), ("frames", 3, BYTES, MANY)),
)
NUMBERS = st.integers(0, MAX_UINT64) | st.sampled_from([0, 0x7F, 0x80, 0x3FFF, 0x4000])
SIZES = st.integers(0, 300) | st.sampled_from([0x7F, 0x80, 0x3FFF, 0x4000])


@given(NUMBERS, NUMBERS, st.lists(SIZES, max_size=4))
def test_a_message_is_written_as_protobuf_writes_it(
    sequence: int, acknowledged: int, sizes: list[int]
) -> None:
    chunks = [pb.OutputChunk(data=b"x" * size) for size in sizes]
    expected = pb.ConnectResponse(
        sequence=sequence,
        acknowledged=acknowledged,
        frames=[pb.ServerFrame(output_chunk=chunk) for chunk in chunks],
    )
    frames = [frame.SerializeToString() for frame in expected.frames]
    assert seal_envelope(Envelope(sequence, acknowledged, frames)) == expected.SerializeToString()


@given(NUMBERS, NUMBERS, st.lists(st.binary(max_size=200), max_size=4))
def test_a_message_is_read_with_its_frames_as_they_came(
    sequence: int, acknowledged: int, frames: list[bytes]
) -> None:
    read = open_envelope(seal_envelope(Envelope(sequence, acknowledged, frames)))
    assert (read.sequence, read.acknowledged, list(read.frames)) == (sequence, acknowledged, frames)


PIECES = st.lists(
    st.sampled_from([b"\x08", b"\x10", b"\x1a", b"\x22", b"\x80", b"\xff\xff", b"\x01", b"\x03abc"])
    | st.binary(max_size=9),
    max_size=8,
)


@given(PIECES)
def test_any_bytes_are_read_or_refused_as_protobuf_would(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    try:
        expected = SHAPE.FromString(data)
    except DecodeError:
        with pytest.raises(InvalidArgument, match="ConnectRequest"):
            open_envelope(data)
        return
    read = open_envelope(data)
    assert (read.sequence, read.acknowledged) == (expected.sequence, expected.acknowledged)
    assert list(read.frames) == list(expected.frames)


@pytest.mark.parametrize("data", [b"\x1a\x05abc", b"\xff", b"\x08"])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgument, match="ConnectRequest"):
        open_envelope(data)
