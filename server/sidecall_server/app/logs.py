"""The log: stdlib records to standard error, as text for people or one JSON object a line.

Whatever a record carries in ``extra`` becomes a key of its own, so that ids and durations
can be searched for. Outputs, arguments and secrets are never logged; that is up to who logs.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

LogFormat = Literal["auto", "text", "json"]

_OWN_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object: time (UTC), level, logger, message, the extras, and the exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        entry: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key, value in _extras(record).items():
            entry.setdefault(key, value)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), default=str)


class TextFormatter(logging.Formatter):
    """``time LEVEL message key=value …``, and the traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, more with a traceback."""
        words = [_time(record), f"{record.levelname:<7}", record.getMessage()]
        words += [f"{key}={value}" for key, value in _extras(record).items()]
        text = " ".join(words).replace("\n", "\\n")
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return text


def configure_logging(level: str, form: LogFormat, stream: TextIO = sys.stderr) -> None:
    """Send all records of at least this level to the stream; auto asks whether it is a terminal."""
    text = form == "text" or (form == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extras(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _OWN_FIELDS}
