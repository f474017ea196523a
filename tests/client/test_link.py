"""The link: sequence, acknowledgements, pieces, and what is said again after a loss."""

from __future__ import annotations

from sidecall.client.link import (
    ACKNOWLEDGE_AFTER_MESSAGES,
    MAX_FRAMES_PER_MESSAGE,
    Link,
    Place,
)
from sidecall.v1 import runtime_stream_pb2 as pb

CHUNK = 1000


def welcome(**fields: int) -> pb.Welcome:
    defaults = {
        "resume_outcome": pb.RESUME_OUTCOME_RESUMED,
        "max_chunk_bytes": CHUNK,
        "max_message_bytes": 5000,
    }
    return pb.Welcome(**{**defaults, **fields})  # type: ignore[arg-type]


def linked() -> Link:
    link = Link()
    link.welcomed(welcome())
    return link


def end_turn(turn_id: str) -> pb.ClientFrame:
    return pb.ClientFrame(end_turn=pb.EndTurn(turn_id=turn_id))


def turns(message: pb.ConnectRequest) -> list[str]:
    return [frame.end_turn.turn_id for frame in message.frames]


def out(link: Link) -> list[pb.ConnectRequest]:
    messages = []
    while (message := link.next_message()) is not None:
        messages.append(message)
    return messages


def heard(sequence: int, *frames: pb.ServerFrame, acknowledged: int = 0) -> pb.ConnectResponse:
    return pb.ConnectResponse(sequence=sequence, acknowledged=acknowledged, frames=frames)


DRAIN = pb.ServerFrame(drain=pb.Drain())


def test_frames_that_are_ready_together_travel_together_and_are_counted() -> None:
    link = linked()
    for turn in "abc":
        link.send(end_turn(turn))
    (first,) = out(link)
    assert (first.sequence, turns(first)) == (1, ["a", "b", "c"])
    link.send(end_turn("d"))
    (second,) = out(link)
    assert (second.sequence, turns(second)) == (2, ["d"])


def test_a_message_stays_below_the_limit() -> None:
    link = linked()
    for number in range(12):
        link.send(end_turn(f"{number}" + "x" * 900))
    messages = out(link)
    assert len(messages) > 1
    assert all(message.ByteSize() <= 5000 for message in messages)
    assert sum(len(message.frames) for message in messages) == 12


def test_a_message_holds_no_more_frames_than_the_server_takes() -> None:
    link = Link()
    link.welcomed(welcome(max_message_bytes=1 << 20))
    for _ in range(MAX_FRAMES_PER_MESSAGE + 1):
        link.send(end_turn(""))
    assert [len(message.frames) for message in out(link)] == [MAX_FRAMES_PER_MESSAGE, 1]


def joined(pieces: list[pb.OutputChunk]) -> pb.ClientFrame:
    assert all(len(piece.data) <= CHUNK for piece in pieces)
    data = b"".join(piece.data for piece in pieces)
    assert {piece.size_bytes for piece in pieces} == {len(data)}
    return pb.ClientFrame.FromString(data)


def test_a_large_frame_goes_in_pieces_and_keeps_its_place() -> None:
    link = linked()
    link.send(end_turn("x" * 3500))
    link.send(end_turn("small"))
    frames = [frame for message in out(link) for frame in message.frames]
    assert frames.pop() == end_turn("small")
    assert joined([frame.output_chunk for frame in frames]) == end_turn("x" * 3500)


def test_a_large_answer_goes_in_pieces_and_lets_others_pass() -> None:
    link = linked()
    link.answer(end_turn("x" * 3500))
    link.send(end_turn("small"))
    messages = out(link)
    assert turns(messages[0])[0] == "small"
    pieces = [frame.output_chunk for message in messages for frame in message.frames][1:]
    assert joined(pieces) == end_turn("x" * 3500)
    assert len(messages) == len(pieces), "one piece a message"


def test_a_place_finds_whom_a_refusal_concerns() -> None:
    link = linked()
    first, second, large = Place(), Place(), Place()
    link.send(end_turn("a"), first)
    link.send(end_turn("b"), second)
    out(link)
    link.answer(end_turn("x" * 2500), large)
    last = len(out(link)) + 1
    places = [first, second, large]

    def concerned(**fields: int) -> list[Place]:
        error = pb.FrameError(**fields)  # type: ignore[arg-type]
        return [place for place in places if place.covered_by(error)]

    assert concerned(sequence=1, frame_index=1) == [second]
    assert concerned(sequence=1) == [first, second]
    assert concerned(sequence=last, frame_index=0) == [large]
    assert concerned(sequence=last, frame_index=1) == []
    assert concerned(sequence=last + 1, frame_index=0) == []


def test_what_the_server_has_not_seen_is_said_again_in_order() -> None:
    link = linked()
    for turn in "abc":
        link.send(end_turn(turn))
        out(link)
    link.receive(heard(0, acknowledged=1))
    link.welcomed(welcome(last_sequence_received=2))
    link.send(end_turn("d"))
    assert [(message.sequence, turns(message)) for message in out(link)] == [(3, ["c"]), (4, ["d"])]
    assert link.unacknowledged == 2


def test_what_was_seen_before_is_dropped() -> None:
    link = linked()
    assert link.receive(heard(1, DRAIN)) == [DRAIN]
    assert link.receive(heard(1, DRAIN)) == []
    assert link.receive(heard(0, DRAIN)) == [DRAIN], "not counted"
    assert link.last_received == 1


def test_after_a_gap_the_count_goes_on_where_the_server_says() -> None:
    link = linked()
    link.receive(heard(1, DRAIN))
    link.welcomed(welcome(resume_outcome=pb.RESUME_OUTCOME_GAP, next_sequence=9))
    assert link.last_received == 8
    assert link.receive(heard(9, DRAIN)) == [DRAIN]


def pieces_of(frame: pb.ServerFrame, transfer_id: int) -> list[pb.ServerFrame]:
    data = frame.SerializeToString()
    return [
        pb.ServerFrame(
            output_chunk=pb.OutputChunk(
                transfer_id=transfer_id, size_bytes=len(data), data=data[at : at + CHUNK]
            )
        )
        for at in range(0, len(data), CHUNK)
    ]


LARGE = pb.ServerFrame(frame_error=pb.FrameError(message="x" * 2500))


def test_pieces_of_the_server_are_put_together_across_others() -> None:
    link = linked()
    got = []
    for sequence, piece in enumerate(pieces_of(LARGE, 1), 1):
        got += link.receive(heard(sequence, piece, DRAIN))
    assert got == [DRAIN, DRAIN, LARGE, DRAIN]


def test_a_transfer_that_another_follows_was_given_up_and_holds_no_memory() -> None:
    link = linked()
    first, *_ = pieces_of(LARGE, 1)
    *begun, last = pieces_of(LARGE, 2)
    assert link.receive(heard(1, first)) == []
    assert link.incoming_bytes == CHUNK
    assert link.receive(heard(2, *begun)) == []
    assert link.incoming_bytes == 2 * CHUNK
    assert link.receive(heard(3, last)) == [LARGE]
    assert link.incoming_bytes == 0


def test_reading_much_is_acknowledged_with_nothing_else_to_say() -> None:
    link = linked()
    for sequence in range(1, ACKNOWLEDGE_AFTER_MESSAGES):
        link.receive(heard(sequence, DRAIN))
    assert out(link) == []
    link.receive(heard(ACKNOWLEDGE_AFTER_MESSAGES, DRAIN))
    (message,) = out(link)
    assert (message.sequence, message.acknowledged) == (0, ACKNOWLEDGE_AFTER_MESSAGES)
    assert out(link) == []


def test_reading_a_lot_of_bytes_is_acknowledged_too() -> None:
    link = linked()
    link.receive(heard(1, pb.ServerFrame(frame_error=pb.FrameError(message="x" * 2_000_000))))
    assert [message.acknowledged for message in out(link)] == [1]


def test_a_heartbeat_is_not_counted() -> None:
    link = linked()
    link.receive(heard(3, DRAIN))
    message = link.heartbeat()
    assert (message.sequence, message.acknowledged) == (0, 3)
    assert link.unacknowledged == 0
