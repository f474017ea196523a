"""Who calls: sessions belong to the identity that created them."""

from __future__ import annotations

from typing import Any

import grpc.aio


def owner_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """The names in the client's certificate; empty where clients show none.

    Whoever can open the unix socket, and whoever holds a bearer token, is one identity.
    """
    identities = context.peer_identities()
    if not identities:
        return ""
    return ",".join(sorted(name.decode(errors="replace") for name in identities))
