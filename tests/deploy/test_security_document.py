"""SECURITY.md: what it names exists."""

from __future__ import annotations

import re

import pytest
from sidecall_server.app.settings import Settings, flag_name

from tests.app.processes import ROOT

TEXT = (ROOT / "SECURITY.md").read_text()
PROMISES = TEXT.partition("## What is promised")[2].partition("## What is not promised")[0]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|deploy)/[^`]+)`", TEXT))))
def test_every_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    "promise",
    [text for text in PROMISES.split("\n\n") if text.startswith("**")],
    ids=lambda text: text[2:30],
)
def test_every_promise_names_a_test(promise: str) -> None:
    assert re.search(r"— `tests/\S+\.py`|—\n`tests/\S+\.py`", promise)


def test_every_flag_that_is_named_is_one() -> None:
    named = set(re.findall(r"`(--[a-z-]+)`", TEXT))

    assert named - {"--version"} <= {flag_name(field) for field in Settings.model_fields}
