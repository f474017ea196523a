"""Log records as lines: what is in them, and that one record stays one line."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
from sidecall_server.app.logs import JsonFormatter, LogFormat, TextFormatter, configure_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    """The root logger, afterwards as it was before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:], root.level = handlers, level


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("a.b", logging.INFO, "file.py", 1, message, (), None)
    made.created = 0.0005
    vars(made).update(extra)
    return made


def test_a_record_is_one_json_object_with_its_extras() -> None:
    line = JsonFormatter().format(record("line 1\nline 2", session_id="s", seconds=0.5))

    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.000Z",
        "level": "info",
        "logger": "a.b",
        "message": "line 1\nline 2",
        "session_id": "s",
        "seconds": 0.5,
    }


def test_an_extra_cannot_forge_what_the_log_says_itself() -> None:
    entry = json.loads(JsonFormatter().format(record("true", time="x", level="x", logger="x")))

    assert (entry["level"], entry["logger"]) == ("info", "a.b")


def test_an_extra_that_is_not_json_is_shown_as_text() -> None:
    entry = json.loads(JsonFormatter().format(record("m", what={1, 2} - {2})))

    assert entry["what"] == "{1}"


def test_an_exception_comes_with_its_traceback() -> None:
    failed = record("failed")
    try:
        raise ValueError("broken")
    except ValueError as error:
        failed.exc_info = (ValueError, error, error.__traceback__)

    assert "ValueError: broken" in json.loads(JsonFormatter().format(failed))["exception"]
    assert TextFormatter().format(failed).endswith("ValueError: broken")


def test_text_is_one_line_for_people() -> None:
    line = TextFormatter().format(record("line 1\nline 2", session_id="s"))

    assert line == "1970-01-01T00:00:00.000Z INFO    line 1\\nline 2 session_id=s"


@pytest.mark.parametrize(
    ("form", "stream", "is_json"),
    [
        ("auto", io.StringIO(), True),
        ("auto", Terminal(), False),
        ("json", Terminal(), True),
        ("text", io.StringIO(), False),
    ],
)
def test_the_form_is_json_unless_people_read_along(
    form: LogFormat, stream: io.StringIO, is_json: bool, root_logger: logging.Logger
) -> None:
    configure_logging("info", form, stream)

    root_logger.info("hello")

    assert stream.getvalue().startswith("{") is is_json


def test_records_below_the_level_are_left_out(root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logging("warning", "json", stream)

    root_logger.info("quiet")
    root_logger.warning("loud")

    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["loud"]
