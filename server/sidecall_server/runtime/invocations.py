"""The tokens that fence answers: each names one invocation of a handler or of hooks."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidecall_server.runtime.call import Call

_PREFIX_BYTES = 8
_NUMBER_BYTES = 8


class Invocations:
    """The invocations of a session that are to be answered, by token."""

    def __init__(self) -> None:
        self.handlers: dict[bytes, Call] = {}
        self.hooks: dict[bytes, Call] = {}
        self._prefix = secrets.token_bytes(_PREFIX_BYTES)
        self._issued = 0

    def of_handler(self, call: Call) -> bytes:
        """A new token: the call's handler is invoked."""
        token = self._next()
        self.handlers[token] = call
        return token

    def of_hook(self, call: Call) -> bytes:
        """A new token: hooks are asked about the call."""
        token = self._next()
        self.hooks[token] = call
        return token

    def call_of(self, token: bytes) -> Call | None:
        """The call that waits for this answer."""
        return self.handlers.get(token) or self.hooks.get(token)

    def was_issued(self, token: bytes) -> bool:
        """Whether the token is, or was, one of these: then its answer is late, not unknown."""
        return (
            len(token) == _PREFIX_BYTES + _NUMBER_BYTES
            and token.startswith(self._prefix)
            and 0 < int.from_bytes(token[_PREFIX_BYTES:], "big") <= self._issued
        )

    def _next(self) -> bytes:
        self._issued += 1
        return self._prefix + self._issued.to_bytes(_NUMBER_BYTES, "big")
