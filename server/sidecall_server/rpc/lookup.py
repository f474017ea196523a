"""Finding what a request names, the same way in every rpc."""

from __future__ import annotations

from typing import Any, Final

import grpc.aio

from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.rpc.identity import owner_of
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.validation import read_required_id

DEFAULT_PAGE_ITEMS: Final = 100
MAX_PAGE_ITEMS: Final = 1000


def find_session(
    sessions: Sessions, session_id: str, context: grpc.aio.ServicerContext[Any, Any]
) -> Session:
    """The caller's session of that id.

    Raises:
        InvalidArgument: the id is empty or too long.
        NotFound: there is none, or it is somebody else's.
    """
    return sessions.get(read_required_id(session_id, "session_id"), owner_of(context))


def page_items(page_size: int) -> int:
    """How many items a page gets."""
    return min(page_size or DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS)


def read_page_token(token: str) -> int:
    """The number of the last item of the page before; 0: from the beginning.

    Raises:
        InvalidArgument: no page ever gave that token.
    """
    if not token:
        return 0
    if token.isascii() and token.isdecimal() and len(token) <= 19:
        return int(token)
    raise InvalidArgument.of("page_token", "must be the next_page_token of an earlier page")
