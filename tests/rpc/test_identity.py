"""Sessions belong to the names in the client's certificate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest
from sidecall_server.rpc.identity import owner_of


class _Peer:
    """What a context knows of the other side."""

    def __init__(self, identities: Iterable[bytes] | None) -> None:
        self._identities = identities

    def peer_identities(self) -> Iterable[bytes] | None:
        return self._identities


@pytest.mark.parametrize(
    ("identities", "owner"),
    [
        (None, ""),
        ((), ""),
        ((b"agent-1",), "agent-1"),
        ((b"b.example", b"a.example"), "a.example,b.example"),
        ((b"\xff",), "\ufffd"),
    ],
)
def test_the_owner_is_who_the_certificate_names(
    identities: Iterable[bytes] | None, owner: str
) -> None:
    assert owner_of(cast(Any, _Peer(identities))) == owner
