"""Bearer tokens from a file: who gets in, and how they are changed, with real processes."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status
from sidecall_server.rpc.authentication import BearerTokens, TokenFileError

from tests.app.certificates import replace
from tests.app.processes import DEADLINE_SECONDS, Processes, ServerProcess, method_of, refused


@pytest.fixture
def token_file(folder: Path) -> Path:
    path = folder / "tokens"
    path.write_text("first\n")
    return path


@pytest.fixture
def server(folder: Path, token_file: Path, processes: Processes) -> ServerProcess:
    return processes.start("--listen", "127.0.0.1:0", "--bearer-token-file", str(token_file))


def ring(server: ServerProcess, *authorization: str) -> bytes:
    metadata = tuple(("authorization", value) for value in authorization)
    with server.channel() as channel:
        return method_of(channel, "Ring")(b"", timeout=DEADLINE_SECONDS, metadata=metadata)


@pytest.mark.parametrize("authorization", ["Bearer first", "bearer first", "Bearer   first "])
def test_a_call_with_an_accepted_token_is_served(authorization: str, server: ServerProcess) -> None:
    assert ring(server, authorization) == b""


@pytest.mark.parametrize(
    "authorization",
    [(), ("Bearer second",), ("Bearer ",), ("first",), ("Basic first",), ("Bearer first first",)],
)
def test_a_call_without_an_accepted_token_is_unauthenticated_and_told_what_to_send(
    authorization: tuple[str, ...], server: ServerProcess
) -> None:
    with pytest.raises(grpc.RpcError) as refusal:
        ring(server, *authorization)

    assert isinstance(refusal.value, grpc.Call)
    assert refusal.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert (refusal.value.details() or "").startswith("UNAUTHENTICATED: no accepted bearer token")
    assert rpc_status.from_call(refusal.value) is not None


def test_a_method_that_does_not_exist_needs_a_token_too(server: ServerProcess) -> None:
    with server.channel() as channel, pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
        method_of(channel, "NoSuchMethod")(b"", timeout=DEADLINE_SECONDS)


def test_health_needs_no_token(server: ServerProcess) -> None:
    with server.channel() as channel:
        check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/grpc.health.v1.Health/Check"
        )
        answer = health_pb2.HealthCheckResponse.FromString(check(b"", timeout=DEADLINE_SECONDS))

    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_tokens_change_without_a_restart(server: ServerProcess, token_file: Path) -> None:
    assert ring(server, "Bearer first") == b""

    replace(token_file, b"second\n")

    assert ring(server, "Bearer second") == b""
    with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
        ring(server, "Bearer first")


def test_several_tokens_hold_at_a_time(token_file: Path) -> None:
    token_file.write_bytes(b"first\r\n\n  second  \n")
    tokens = BearerTokens(token_file)

    accepted = [tokens.accept(token) for token in (b"first", b"second", b"", b"first\nsecond")]

    assert accepted == [True, True, False, False]


@pytest.mark.parametrize("content", [None, b"", b" \n\n"])
def test_the_last_good_tokens_stay_while_the_file_has_none(
    content: bytes | None, token_file: Path
) -> None:
    tokens = BearerTokens(token_file)
    if content is None:
        token_file.unlink()
    else:
        replace(token_file, content)
    assert tokens.accept(b"first")

    replace(token_file, b"second")

    assert (tokens.accept(b"first"), tokens.accept(b"second")) == (False, True)


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), (b"\n", "holds no token")])
def test_a_file_without_tokens_is_refused_at_the_start(
    content: bytes | None, said: str, token_file: Path
) -> None:
    token_file.unlink()
    if content is not None:
        token_file.write_bytes(content)

    with pytest.raises(TokenFileError, match=said):
        BearerTokens(token_file)
    assert said in refused("--listen", "127.0.0.1:0", "--bearer-token-file", str(token_file))
