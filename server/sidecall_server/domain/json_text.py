"""JSON as text: read strictly, written compactly, numbers never touched (SPEC N1-N4).

Rules kept here:

* numbers keep their source text, key order is kept, a duplicate key keeps its
  first position and its last value (N1);
* output is compact, with the short escapes and lower-case ``\\u00xx`` (N2);
* floats made by the host are written as the reference runtime writes them (N3);
* what the reference parser rejects is rejected: empty or trailing text, NaN and
  Infinity, a BOM, raw control characters, lone surrogate escapes, 128 or more
  levels of nesting, leading zeros (N4).

`compact` first lets orjson read and write the text, and keeps that where nothing but white space
is different. Else, and for `parse`, the standard library's C scanner does the parsing;
its two gaps, nesting depth and lone surrogates, are checked on the raw text and only where the
text could fail. Long strings are written by orjson, which gives the same bytes four times as fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring as _quote_short
from typing import Final, NoReturn

import orjson

from sidecall_server.domain.json_value import JsonNumber, JsonValue
from sidecall_server.domain.limits import MAX_JSON_DEPTH


class JsonError(ValueError):
    """The text is not JSON as the reference runtime reads it."""


def parse(text: str) -> JsonValue:
    """Read JSON text into values.

    Raises:
        JsonError: the text is not acceptable JSON (N4).
    """
    _check_raw_text(text)
    return _decode(_DECODER, text)


def compact(text: str) -> str:
    """Read JSON text and write it again, compactly (N1, N2).

    What orjson writes is taken where it equals the text but for white space: a number, escape
    or key that it would change makes them differ. Else it costs one pass of the C scanner
    and one of a regular expression; only where a duplicate key has to collapse is the text read
    again and the value tree written out.

    Raises:
        JsonError: the text is not acceptable JSON (N4).
    """
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        try:
            written = orjson.dumps(orjson.loads(text))
        except orjson.JSONDecodeError:
            pass  # the reference's words for it are below
        else:
            given = text.encode()
            if given == written:
                return text
            # spaces in strings go from both, for they are not told from those between tokens
            if given.translate(None, _SPACE) == written.translate(None, _SPACE):
                return written.decode()
    _check_raw_text(text)
    try:
        _decode(_DUPLICATE_FINDER, text)
    except _DuplicateKeyError:
        return write(_decode(_DECODER, text))
    if "\\" in text:
        return _STRING_OR_SPACE.sub(_compact_token, text)
    return "".join(_PLAIN_TOKEN.findall(text))


def write(value: JsonValue) -> str:
    """Write a value as compact JSON (N2, N3). Host floats must be finite."""
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def quote(text: str) -> str:
    """Write text as a JSON string, non-ASCII characters raw (N2)."""
    if len(text) < _SHORT_CHARACTERS:
        return _quote_short(text)
    return orjson.dumps(text).decode()


def write_float(number: float) -> str:
    """Write a finite host float: shortest digits, ``2.0``, ``0.00005``, ``1e16`` (N3)."""
    digits = repr(number)
    mantissa, _, exponent = digits.partition("e")
    magnitude = abs(number)
    if magnitude == 0.0 or 1e-5 <= magnitude < 1e16:
        if not exponent:
            return digits
        plain = format(Decimal(digits), "f")
        return plain if "." in plain else plain + ".0"
    if not exponent:  # repr writes 1e16 and above with an exponent, below 1e-4 too
        return digits
    return f"{mantissa}e{int(exponent)}"


class _DuplicateKeyError(Exception):
    """An object has a key twice."""


def _unique(pairs: list[tuple[str, object]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) != len(pairs):
        raise _DuplicateKeyError


def _reject_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=_reject_constant
)
_DUPLICATE_FINDER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=_reject_constant
)
_SHORT_CHARACTERS: Final = 128
"""Below, calling orjson costs more than it saves."""

_SPACE: Final = b" \n\r\t"
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRING_OR_SPACE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\n\r]+', re.DOTALL)
_PLAIN_TOKEN = re.compile(r'"[^"]*"|[^" \t\n\r]+')
"""Of a text without escapes."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_BRACKET = re.compile(r"[\[{\]}]")


def _decode(decoder: json.JSONDecoder, text: str) -> JsonValue:
    try:
        value: JsonValue = decoder.decode(text)
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(str(error)) from None
    return value


def _compact_token(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] != '"':
        return ""
    if "\\" not in token:
        return token
    decoded: str = json.loads(token)
    return quote(decoded)


def _check_raw_text(text: str) -> None:
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH:
        _check_depth(text)
    if _SURROGATE_ESCAPE.search(text) is not None:
        _check_surrogates(text)


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        if bracket in "[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise JsonError(f"nested deeper than {MAX_JSON_DEPTH} levels")
        else:
            depth -= 1


def _check_surrogates(text: str) -> None:
    for token in _STRING.findall(text):
        if _SURROGATE_ESCAPE.search(token) is None:
            continue
        try:
            json.loads(token, strict=False).encode()
        except UnicodeEncodeError:
            raise JsonError("a lone surrogate escape is not text") from None
        except ValueError as error:
            raise JsonError(str(error)) from None


def _write(value: JsonValue, parts: list[str]) -> None:
    if isinstance(value, JsonNumber):
        parts.append(value)
    elif isinstance(value, str):
        parts.append(quote(value))
    elif value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(write_float(value))
    elif isinstance(value, Mapping):
        separator = "{"
        for key, member in value.items():
            parts.append(separator)
            parts.append(quote(key))
            parts.append(":")
            _write(member, parts)
            separator = ","
        parts.append("}" if value else "{}")
    else:
        separator = "["
        for member in value:
            parts.append(separator)
            _write(member, parts)
            separator = ","
        parts.append("]" if value else "[]")
