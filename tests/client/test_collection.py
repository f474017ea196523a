"""The collection buffer: head and tail stay, the middle is counted (SPEC C7)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sidecall.client import HeadTailBuffer


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 64))
def test_head_and_tail_are_what_was_written_first_and_last(
    writes: list[bytes], capacity: int
) -> None:
    buffer = HeadTailBuffer(capacity)
    for data in writes:
        buffer.write(data)
    everything = b"".join(writes)
    kept = buffer.collected()
    assert buffer.observed_bytes == len(everything)
    assert buffer.original_token_count == -(-len(everything) // 4)
    if len(everything) <= capacity:
        assert kept == everything
        assert buffer.omitted_bytes == 0
    else:
        head, tail = capacity // 2, capacity - capacity // 2
        assert kept.startswith(everything[:head] + b"\n")
        assert kept.endswith(b"\n" + everything[-tail:])
        assert buffer.omitted_bytes == len(everything) - capacity
        assert str(buffer.omitted_bytes).encode() in kept[head:]
