"""Messages no good client writes; the same peer goes on as if nothing had happened."""

from __future__ import annotations

import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb

from tests.chaos.accounts import Accounts, Reference
from tests.chaos.peer import ChaosPeer
from tests.chaos.plan import Forgery
from tests.chaos.world import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES, World
from tests.runtime_wire import frames
from tests.runtime_wire.peer import StreamPeer

_UNKNOWN_FIELD = b"\xfa\x07\x01x"
"""A length-delimited field 127: as a frame it is of no known kind."""

FAR = 1_000_000


async def forge(
    world: World, peer: ChaosPeer, accounts: Accounts, number: int, what: Forgery
) -> None:
    """Do one piece of evil; `number` tells the forged calls of a stay apart."""
    if not peer.attached:
        return
    call = frames.call(f"forged-{number}", "share", turn_id="forged")
    dispatch = frames.dispatch(call)
    accounts.forged.add(Reference("forged", call.call_id))
    accounts.forgery(0)
    match what:
        case Forgery.GARBAGE:
            await peer.write(b"\xff\xfe garbage \x00" * 50)
        case Forgery.TRUNCATED:
            message = pb.ConnectRequest(sequence=peer.next_sequence + FAR, frames=[dispatch])
            await peer.write(message.SerializeToString()[:-3])
        case Forgery.FUTURE:
            accounts.forgery(peer.next_sequence + FAR)
            await peer.write_message(peer.next_sequence + FAR, dispatch)
        case Forgery.PAST:
            if peer.sequence:
                await peer.write_message(peer.sequence, dispatch)
        case Forgery.ACKNOWLEDGED_FUTURE:
            await peer.write_message(0, frames.HEARTBEAT, acknowledged=peer.received + FAR)
        case Forgery.UNNUMBERED:
            await peer.write_message(0, dispatch)
        case Forgery.WRONG_RESUME_TOKEN | Forgery.HELLO_FROM_THE_FUTURE:
            await _bad_hello(world.channel, peer, what)
        case _:
            await _send_forged(peer, accounts, world, what, call)


async def _send_forged(
    peer: ChaosPeer, accounts: Accounts, world: World, what: Forgery, call: call_pb.ToolCall
) -> None:
    """A forgery that is counted as a message."""
    frame = pb.ClientFrame()
    match what:
        case Forgery.EMPTY_FRAME:
            pass
        case Forgery.UNKNOWN_FRAME:
            frame = pb.ClientFrame.FromString(_UNKNOWN_FIELD)
        case Forgery.UNKNOWN_ENUM:
            tool = frames.tool("evil", cancel_mode=99)
            frame.update_tools.CopyFrom(pb.UpdateTools(upsert=[tool]))
        case Forgery.MISSING_FIELDS:
            call.ClearField("payload")
            frame = frames.dispatch(call)
        case Forgery.WRONG_TOKEN:
            frame = frames.answer(b"w" * 16)
        case Forgery.SOMEBODYS_TOKEN:
            frame = frames.answer(world.tokens[-1] if world.tokens else b"short")
        case Forgery.STALE_TOKEN:
            frame = frames.answer(peer.tokens[0] if peer.tokens else b"stale")
        case Forgery.HELLO_AGAIN:
            frame.hello.CopyFrom(pb.Hello(protocol_versions=[1]))
        case Forgery.OVERSIZE:
            frame = frames.dispatch(call)
            frame.dispatch_call.call.payload.function.arguments = b"x" * (MAX_MESSAGE_BYTES + 1)
        case Forgery.OVERLONG_CHUNK:
            frame = frames.chunk(FAR, 10, b"x" * 11)
        case Forgery.CHUNK_OF_CHUNK:
            inner = frames.chunk(FAR, 1, b"x").SerializeToString()
            frame = frames.chunk(FAR + 1, len(inner), inner)
    assert frame.ByteSize() > MAX_CHUNK_BYTES or what is not Forgery.OVERSIZE
    accounts.forgery(peer.next_sequence)
    await peer.send(frame)


async def _bad_hello(channel: grpc.aio.Channel, victim: ChaosPeer, what: Forgery) -> None:
    """A second stream that wants the session and must not get it, nor end the first."""
    assert victim.welcome is not None
    hello = {
        "session_id": victim.welcome.session_id,
        "resume_token": victim.welcome.resume_token,
    }
    if what is Forgery.WRONG_RESUME_TOKEN:
        hello["resume_token"] = "wrong"
    stranger = StreamPeer(channel)
    try:
        await stranger.attach(
            **hello,
            last_sequence_received=FAR if what is Forgery.HELLO_FROM_THE_FUTURE else 0,
        )
    except ConnectionError:
        return
    else:
        victim.accounts.broke("broken", f"{what} was welcomed")
    finally:
        await stranger.lose()
