"""The runner runs what it is given, all of it, and says what is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.differences import difference
from tests.conformance.lines import VECTORS, Json, find_lines
from tests.conformance.runner import Tally, run

_TRUNCATE: Json = {
    "name": "cut",
    "request": {
        "op": "truncate",
        "text": "example output",
        "policy": {"bytes": 1},
        "formatted": False,
    },
    "expect": {"text": "…13 chars truncated…t"},
}
_RECORD: Json = {
    "op": "record",
    "call_id": "d-{i}",
    "tool_name": {"name": "tool{i}"},
    "payload": {"kind": "function", "arguments": "{i}"},
    "source": "direct",
    "tool_mode": "direct",
}


def _project(output: Json) -> Json:
    request = {
        "op": "project",
        "call_id": "c",
        "tool_name": {"name": "t"},
        "payload": {"kind": "function", "arguments": "{}"},
        "output": output,
    }
    return {"name": "p", "request": request, "expect": {}}


def _write(folder: Path, name: str, *lines: bytes | Json) -> None:
    data = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def test_every_handed_vector_holds_against_a_live_server() -> None:
    failures: list[str] = []
    assert run(VECTORS, failures.append) == Tally(passed=760, failed=0), "\n".join(failures)


def test_the_op_decides_the_family_and_not_the_file_s_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path, "json.jsonl", _TRUNCATE)
    _write(tmp_path, "anything.jsonl.gz", _TRUNCATE)
    _write(tmp_path, "notes.txt", b"no vectors")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


def test_a_wrong_answer_is_shown_and_makes_the_exit_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path, "a.jsonl", _TRUNCATE, {**_TRUNCATE, "expect": {"text": "…13 chars"}})
    assert main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "FAILED a.jsonl:2 cut\n  text\n" in out
    assert out.splitlines()[-1] == "1 passed, 1 failed"


def test_every_line_that_is_no_vector_counts_as_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad: list[bytes | Json] = [
        b"not json",
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"name":"n","request":{"op":"dance"},"expect":{}}',
        b'{"name":"n","request":{"op":"truncate"},"expect":{}}',
        b'{"name":"n","request":[],"expect":{}}',
        b"[" * 200_000,
        {"name": "n", "request": {"op": "recorder", "ops": [{"op": "dance"}]}, "expect": {}},
        _project({"kind": "dance"}),
        {**_TRUNCATE, "expect": None},
    ]
    _write(tmp_path, "bad.jsonl", *bad, _TRUNCATE)
    (tmp_path / "broken.jsonl.gz").write_bytes(gzip.compress(b"{}\n")[:-6])
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"1 passed, {len(bad) + 1} failed"


def test_a_refused_request_is_shown_with_its_status(tmp_path: Path) -> None:
    request = {**_TRUNCATE["request"], "policy": {"bytes": 1}}
    bad = {"op": "recorder", "ops": [{**_RECORD, "call_id": ""}]}
    _write(tmp_path, "a.jsonl", {"name": "n", "request": bad, "expect": {"results": [None]}})
    _write(tmp_path, "b.jsonl", {**_TRUNCATE, "request": request})
    failures: list[str] = []
    assert run(tmp_path, failures.append) == Tally(1, 1)
    assert "INVALID_ARGUMENT: MISSING_FIELD: call.call_id" in failures[0]


def test_repetitions_fill_in_ids_and_names_but_no_arguments(tmp_path: Path) -> None:
    attach = {
        "op": "attach",
        "items": [
            {"kind": "message", "call_id": None},
            {"kind": "function", "call_id": "d-1"},
        ],
        "cache": "",
    }
    records = json.dumps([{"name": "tool1", "arguments": "{i}"}], separators=(",", ":"))
    answer = {
        "attached": True,
        "items": [
            {
                "index": 1,
                "metadata_bytes": len(records) + 22 + 48,
                "executed_tool_calls_json": records,
            }
        ],
        "state": {
            "direct_calls": 1,
            "cells": 0,
            "output_cells": 0,
            "retained_outputs": 1,
            "pending_nested_calls": 0,
        },
    }
    request = {"op": "recorder", "ops": [{**_RECORD, "repeat": 2}, attach]}
    _write(
        tmp_path,
        "r.jsonl",
        {"name": "n", "request": request, "expect": {"results": [None, answer]}},
    )
    failures: list[str] = []
    assert run(tmp_path, failures.append) == Tally(1, 0), failures


def test_numbers_inside_a_vector_s_values_keep_their_text(tmp_path: Path) -> None:
    line = json.dumps(_project({"kind": "tool_search", "tools": ["NUMBER"]}))
    _write(tmp_path, "n.jsonl", line.replace('"NUMBER"', "1.10e400").encode())
    failures: list[str] = []
    run(tmp_path, failures.append)
    assert "[1.10e400]" in failures[0]


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as exit_status:
        main([str(tmp_path / "nowhere")])
    assert exit_status.value.code == 2


@pytest.mark.parametrize(
    ("data", "count"), [(b"", 0), (b"{}", 1), (b"{}\n", 1), (b"{}\n{}", 2), (b"\n\n", 2)]
)
def test_lines_are_counted_as_a_line_end_ends_them(tmp_path: Path, data: bytes, count: int) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    assert len(list(find_lines(tmp_path))) == count


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": None}, {}, "a: missing: None"),
        ({}, {"a": {"b": 1}}, "a: unexpected: {'b': 1}"),
        ([1, 2], [1], ": expected 2 entries, got 1"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]\n    expected 2\n    got      3"),
        (True, 1, "answer\n    expected True\n    got      1"),
        ("x" * 50 + "a", "x" * 50 + "b", None),
    ],
)
def test_a_difference_names_the_first_place(expected: object, actual: object, said: str) -> None:
    if isinstance(expected, str):
        said = f" from character 20\n    expected '{'x' * 30}a'\n    got      '{'x' * 30}b'"
    assert difference(expected, actual) == said
