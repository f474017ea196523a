"""Streams that must not begin, or must end: each says why, and the attached one goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from grpc import StatusCode
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.app.certificates import Authority, Identity
from tests.app.processes import Processes
from tests.runtime_wire import frames
from tests.runtime_wire.conftest import MAX_MESSAGE_BYTES, SIDECALL
from tests.runtime_wire.peer import StreamEnd, StreamPeer
from tests.runtime_wire.scene import TOOLS, Scene


async def _refused(channel: grpc.aio.Channel, **hello: Any) -> StreamEnd:
    """How a stream that says this Hello ends."""
    stranger = StreamPeer(channel)
    with pytest.raises(ConnectionError):
        await stranger.attach(**hello)
    return await stranger.ended()


def _mine(scene: Scene) -> dict[str, str]:
    assert scene.mine.welcome is not None
    return {
        "session_id": scene.mine.welcome.session_id,
        "resume_token": scene.mine.welcome.resume_token,
    }


async def test_a_wrong_resume_token_is_refused(scene: Scene) -> None:
    end = await _refused(scene.channel, **{**_mine(scene), "resume_token": "wrong"})
    assert (end.code, end.reason) == (StatusCode.PERMISSION_DENIED, "RESUME_TOKEN_INVALID")


async def test_another_session_s_resume_token_is_refused(scene: Scene) -> None:
    assert scene.other.welcome is not None
    token = scene.other.welcome.resume_token
    end = await _refused(scene.channel, **{**_mine(scene), "resume_token": token})
    assert (end.code, end.reason) == (StatusCode.PERMISSION_DENIED, "RESUME_TOKEN_INVALID")


async def test_an_attached_session_is_not_attached_without_its_token(scene: Scene) -> None:
    end = await _refused(scene.channel, session_id=_mine(scene)["session_id"])
    assert (end.code, end.reason) == (StatusCode.FAILED_PRECONDITION, "SESSION_ATTACHED")


async def test_a_session_that_is_not_there_is_not_found(scene: Scene) -> None:
    end = await _refused(scene.channel, session_id="nobody's", resume_token="x")
    assert (end.code, end.reason) == (StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")


async def test_a_hello_without_versions_is_refused(scene: Scene) -> None:
    end = await _refused(scene.channel, protocol_versions=[])
    assert (end.code, end.reason) == (StatusCode.INVALID_ARGUMENT, "MISSING_FIELD")


async def test_a_hello_of_another_protocol_is_refused(scene: Scene) -> None:
    end = await _refused(scene.channel, protocol_versions=[2, 99])
    assert end.code is StatusCode.FAILED_PRECONDITION
    assert end.reason == "PROTOCOL_VERSION_UNSUPPORTED"


async def test_a_hello_that_has_seen_the_future_does_not_take_the_session_over(
    scene: Scene,
) -> None:
    """Refused is refused: the attachment that was there must not notice."""
    end = await _refused(scene.channel, **_mine(scene), last_sequence_received=1_000_000)
    assert end.code is StatusCode.INVALID_ARGUMENT
    assert end.reason == "ACKNOWLEDGEMENT_OUT_OF_RANGE"


async def test_a_refused_hello_leaves_no_new_session(scene: Scene) -> None:
    before = await scene.sessions.ListSessions(session_pb.ListSessionsRequest(page_size=1000))
    end = await _refused(scene.channel, last_sequence_received=5)
    assert end.reason == "ACKNOWLEDGEMENT_OUT_OF_RANGE"
    end = await _refused(scene.channel, tools=[frames.tool("bad", cancel_mode=9)])
    assert end.reason == "UNKNOWN_ENUM_VALUE"
    after = await scene.sessions.ListSessions(session_pb.ListSessionsRequest(page_size=1000))
    assert len(after.sessions) == len(before.sessions)


@pytest.mark.parametrize("first", ["nothing", "heartbeat", "dispatch"])
async def test_a_stream_that_does_not_begin_with_hello_ends(scene: Scene, first: str) -> None:
    stranger = StreamPeer(scene.channel)
    stranger.open()
    said = {
        "nothing": [],
        "heartbeat": [frames.HEARTBEAT],
        "dispatch": [frames.dispatch(frames.call("forged"))],
    }
    await stranger.write_message(1, *said[first])
    end = await stranger.ended()
    assert (end.code, end.reason) == (StatusCode.FAILED_PRECONDITION, "HELLO_REQUIRED")


async def test_a_hello_above_the_message_limit_is_refused(scene: Scene) -> None:
    end = await _refused(scene.channel, client_name="x" * (MAX_MESSAGE_BYTES + 1))
    assert (end.code, end.reason) == (StatusCode.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE")


async def test_a_message_above_twice_the_limit_ends_only_its_stream(scene: Scene) -> None:
    victim = StreamPeer(scene.channel)
    await victim.attach(tools=TOOLS)
    await victim.write(b"\x00" * (2 * MAX_MESSAGE_BYTES + 1))
    end = await victim.ended()
    assert end.code is StatusCode.RESOURCE_EXHAUSTED
    assert (await scene.look(victim)).state == session_pb.SESSION_STATE_DETACHED
    await victim.attach(tools=TOOLS)
    await victim.send(frames.answer(await scene.invoked(victim, "after")))
    await victim.expect("call_completed")
    await victim.lose()


async def test_a_take_over_ends_the_other_stream_and_no_call(scene: Scene) -> None:
    old = scene.mine
    thief = StreamPeer(scene.channel)
    await thief.attach(**_mine(scene), tools=TOOLS)
    end = await old.ended()
    assert (end.code, end.reason) == (StatusCode.ABORTED, "TAKEN_OVER")
    thief.sequence = old.sequence
    scene.mine = thief


async def test_what_the_old_stream_says_after_a_take_over_is_not_heard(scene: Scene) -> None:
    old = scene.mine
    thief = StreamPeer(scene.channel)
    await thief.attach(**_mine(scene), tools=TOOLS)
    await old.write_message(old.sequence + 1, frames.dispatch(frames.call("forged")))
    await old.ended()
    assert (await scene.look(thief)).recorder_sizes.direct_calls == 1
    thief.sequence = old.sequence
    scene.mine = thief


def _client(authority: Authority, name: str) -> Identity:
    """A client's certificate for one name; those of `Authority.sign` all share theirs."""
    key = ec.generate_private_key(ec.SECP256R1())
    template = authority.sign(name).certificate
    certificate = (
        x509.CertificateBuilder()
        .subject_name(template.subject)
        .issuer_name(template.issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(template.not_valid_before_utc)
        .not_valid_after(template.not_valid_after_utc)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Identity(certificate, key)


async def test_a_session_of_another_owner_does_not_exist(tmp_path: Path) -> None:
    authority = Authority.make("authority")
    (tmp_path / "server").mkdir()
    certificate, key = authority.sign("localhost").write(tmp_path / "server")
    ca = tmp_path / "ca.pem"
    ca.write_bytes(authority.certificate_pem)
    processes = Processes(tmp_path)
    flags = ["--listen=localhost:0", f"--tls-certificate={certificate}", f"--tls-key={key}"]
    try:
        server = processes.start(*flags, f"--tls-client-ca={ca}", command=(SIDECALL, "serve"))
        channels = []
        for name in ("alice.example", "mallory.example"):
            identity = _client(authority, name)
            credentials = grpc.ssl_channel_credentials(
                authority.certificate_pem, identity.key_pem, identity.certificate_pem
            )
            options = [("grpc.use_local_subchannel_pool", 1)]
            channels.append(grpc.aio.secure_channel(server.address, credentials, options))
        alice = StreamPeer(channels[0])
        welcome = await alice.attach(tools=TOOLS)
        token = await Scene.invoked(alice, "held")

        end = await _refused(
            channels[1], session_id=welcome.session_id, resume_token=welcome.resume_token
        )
        assert (end.code, end.reason) == (StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
        mallory: Any = SessionServiceStub(channels[1])
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await mallory.DeleteSession(
                session_pb.DeleteSessionRequest(session_id=welcome.session_id)
            )
        assert refused.value.code() is StatusCode.NOT_FOUND

        await alice.send(frames.answer(token))
        completed = await alice.expect("call_completed")
        assert completed.outcome.completed.success
        await alice.lose()
        for channel in channels:
            await channel.close()
    finally:
        processes.close()
