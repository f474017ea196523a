"""Whatever a handler raises, its client gets a status that helps and leaks nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import BadRequest, QuotaFailure, ResourceInfo, RetryInfo
from sidecall_server.domain.errors import (
    AlreadyExists,
    DomainError,
    FailedPrecondition,
    FieldViolation,
    InvalidArgument,
    NotFound,
    Reason,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)

from tests.rpc.live import Refusal, details_of, refused, serving_handlers

SERVICE = "test.Thrower"


def _handlers(**methods: grpc.RpcMethodHandler[Any, Any]) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(SERVICE, methods)


async def _refusal_of(folder: Path, error: BaseException) -> Refusal:
    """What a client gets from a unary handler that raises."""

    async def throw(request: bytes, context: Any) -> bytes:
        raise error

    async with serving_handlers(
        folder, _handlers(Throw=grpc.unary_unary_rpc_method_handler(throw))
    ) as channel:
        rpc: Any = channel.unary_unary(f"/{SERVICE}/Throw")
        return await refused(rpc(b""))


@pytest.mark.parametrize(
    ("error", "code", "details"),
    [
        (InvalidArgument.of("a.b", "is odd"), "INVALID_ARGUMENT", ["ErrorInfo", "BadRequest"]),
        (InvalidArgument("no field is to blame"), "INVALID_ARGUMENT", ["ErrorInfo"]),
        (
            NotFound("no such", resource_type="t", resource_name="n"),
            "NOT_FOUND",
            ["ErrorInfo", "ResourceInfo"],
        ),
        (
            AlreadyExists("taken", resource_type="t", resource_name="n"),
            "ALREADY_EXISTS",
            ["ErrorInfo", "ResourceInfo"],
        ),
        (FailedPrecondition("closed"), "FAILED_PRECONDITION", ["ErrorInfo"]),
        (
            ResourceExhausted("full", subject="s"),
            "RESOURCE_EXHAUSTED",
            ["ErrorInfo", "QuotaFailure"],
        ),
        (
            ResourceExhausted("full", subject="s", retry_after_seconds=1.5),
            "RESOURCE_EXHAUSTED",
            ["ErrorInfo", "QuotaFailure", "RetryInfo"],
        ),
        (Unavailable("later"), "UNAVAILABLE", ["ErrorInfo", "RetryInfo"]),
        (Unauthenticated("who"), "UNAUTHENTICATED", ["ErrorInfo"]),
        (DomainError("not here", reason=Reason.UNIMPLEMENTED), "UNIMPLEMENTED", ["ErrorInfo"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_each_kind_of_error_has_its_code_and_details(
    tmp_path: Path, error: DomainError, code: str, details: list[str]
) -> None:
    refusal = await _refusal_of(tmp_path, error)
    assert refusal.code.name == code
    assert refusal.reason == error.reason
    assert details_of(refusal.status) == details
    assert refusal.message == f"{error.reason}: {error}"


async def test_details_hold_what_the_caller_needs_to_go_on(tmp_path: Path) -> None:
    refusal = await _refusal_of(
        tmp_path, ResourceExhausted("full", subject="max_sessions", retry_after_seconds=1.5)
    )
    assert refusal.detail(QuotaFailure).violations[0].subject == "max_sessions"
    assert refusal.detail(RetryInfo).retry_delay.ToMilliseconds() == 1500


async def test_a_resource_is_named_with_its_type(tmp_path: Path) -> None:
    error = NotFound("no", resource_type="sidecall.v1.Session", resource_name="s-1")
    resource = (await _refusal_of(tmp_path, error)).detail(ResourceInfo)
    assert (resource.resource_type, resource.resource_name) == ("sidecall.v1.Session", "s-1")


async def test_an_exception_of_the_program_shows_only_a_reference_that_the_log_has_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        refusal = await _refusal_of(tmp_path, KeyError("the secret of the house"))
    assert refusal.code is grpc.StatusCode.INTERNAL
    assert refusal.reason == "INTERNAL"
    assert "secret" not in str(refusal.status) + refusal.message
    reference = refusal.message.rpartition(" ")[2]
    [record] = [record for record in caplog.records if reference in record.getMessage()]
    assert record.exc_info is not None
    assert "the secret of the house" in str(record.exc_info[1])
    assert "/test.Thrower/Throw" in record.getMessage()


async def test_a_long_message_is_cut_and_still_arrives(tmp_path: Path) -> None:
    refusal = await _refusal_of(tmp_path, FailedPrecondition("é" * 10_000))
    assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
    assert len(refusal.message.encode()) <= 1024
    assert refusal.message.endswith("é…")


async def test_many_violations_are_cut_and_counted(tmp_path: Path) -> None:
    violations = [FieldViolation(f"outputs[{i}].kind", "漢" * 300) for i in range(500)]
    refusal = await _refusal_of(tmp_path, InvalidArgument("bad", violations=violations))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.status.ByteSize() <= 4096
    *shown, last = refusal.detail(BadRequest).field_violations
    assert [violation.field for violation in shown] == [
        f"outputs[{i}].kind" for i in range(len(shown))
    ]
    assert last.description == f"and {500 - len(shown)} more violations"


async def test_a_stream_that_breaks_in_the_middle_ends_with_the_status(tmp_path: Path) -> None:
    async def count(requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            yield request
            raise FailedPrecondition("enough", reason=Reason.TURN_ENDED)

    async with serving_handlers(
        tmp_path, _handlers(Count=grpc.stream_stream_rpc_method_handler(count))
    ) as channel:
        rpc: Any = channel.stream_stream(f"/{SERVICE}/Count")
        call = rpc()
        await call.write(b"one")
        assert await call.read() == b"one"
        refusal = await refused(call, call.read())
        assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
        assert refusal.reason == "TURN_ENDED"


async def test_a_stream_of_the_coroutine_kind_ends_with_the_status_too(tmp_path: Path) -> None:
    async def write(request: bytes, context: Any) -> None:
        await context.write(b"one")
        raise RuntimeError("the secret of the house")

    async with serving_handlers(
        tmp_path, _handlers(Write=grpc.unary_stream_rpc_method_handler(write))
    ) as channel:
        rpc: Any = channel.unary_stream(f"/{SERVICE}/Write")
        call = rpc(b"")
        assert await call.read() == b"one"
        refusal = await refused(call, call.read())
        assert refusal.code is grpc.StatusCode.INTERNAL
        assert "secret" not in refusal.message


async def test_a_handler_may_end_an_rpc_in_its_own_words(tmp_path: Path) -> None:
    async def abort(request: bytes, context: Any) -> bytes:
        await context.abort(grpc.StatusCode.DATA_LOSS, "in my own words")
        return b""

    async with serving_handlers(
        tmp_path, _handlers(Abort=grpc.unary_unary_rpc_method_handler(abort))
    ) as channel:
        rpc: Any = channel.unary_unary(f"/{SERVICE}/Abort")
        refusal = await refused(rpc(b""))
        assert refusal.code is grpc.StatusCode.DATA_LOSS
        assert refusal.message == "in my own words"


async def test_a_client_that_goes_cancels_the_handler(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: bytes, context: Any) -> bytes:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
            raise
        return b""

    async with serving_handlers(
        tmp_path, _handlers(Wait=grpc.unary_unary_rpc_method_handler(wait))
    ) as channel:
        rpc: Any = channel.unary_unary(f"/{SERVICE}/Wait")
        call = rpc(b"")
        await asyncio.wait_for(entered.wait(), 10)
        call.cancel()
        await asyncio.wait_for(ended.wait(), 10)
    assert not caplog.records


async def test_a_method_that_does_not_exist_is_unimplemented(tmp_path: Path) -> None:
    async with serving_handlers(tmp_path, _handlers()) as channel:
        rpc: Any = channel.unary_unary(f"/{SERVICE}/Nothing")
        refusal = await refused(rpc(b""))
        assert refusal.code is grpc.StatusCode.UNIMPLEMENTED
