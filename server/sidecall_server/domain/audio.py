"""How many tokens sound costs (SPEC E7)."""

from __future__ import annotations

import math
from base64 import b64decode
from io import BytesIO

from sidecall_server.domain.limits import AUDIO_TOKENS_PER_SECOND
from sidecall_server.domain.truncation import tokens_of
from sidecall_server.domain.values import utf8_size


def audio_tokens(url: str) -> int:
    """The token estimate of an audio URL: by duration, ten a second, rounded up.

    A URL whose sound cannot be read costs as much as its own text: anything but a base64 data
    URL, damaged data, and containers that the library does not know (WebM).
    """
    duration_seconds = _duration_seconds(url)
    if duration_seconds is None:
        return tokens_of(utf8_size(url))
    return math.ceil(duration_seconds * AUDIO_TOKENS_PER_SECOND)


def _duration_seconds(url: str) -> float | None:
    header, comma, payload = url.partition(",")
    header = header.lower()
    if not (comma and header.startswith("data:") and header.endswith(";base64")):
        return None
    from tinytag import TinyTag, TinyTagException  # most agents send no sound

    try:
        tag = TinyTag.get(file_obj=BytesIO(b64decode(payload, validate=True)), tags=False)
    except (ValueError, TinyTagException):
        return None
    duration = tag.duration
    # the library promises neither sign nor size, and a negative cost would widen the budget
    return duration if duration is not None and 0 < duration < math.inf else None
