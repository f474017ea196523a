"""The benchmark measures what it says: its figures, its bytes, its floor and its answers."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.bench import __main__ as command_line
from tests.bench import plots
from tests.bench.against import Ratio, against
from tests.bench.against import main as against_command
from tests.bench.attach import RECORDS, Attach
from tests.bench.copies import COMPILER, copies_per_output
from tests.bench.cycle import Cycle
from tests.bench.document import DOCUMENT, PLOTS, PROFILED, with_text
from tests.bench.figures import (
    Basis,
    Figure,
    Sample,
    cost_ratio,
    latency_ratio,
    percentile,
    rate_ratio,
)
from tests.bench.fill import Fill
from tests.bench.footprint import footprint
from tests.bench.frames import (
    CALL_COMPLETED,
    INVOKE_HANDLER,
    TURN_CALLS,
    Dispatches,
    Results,
    arguments_of,
    frames_of,
    hello,
    seal,
    sequence_of,
    text_of,
)
from tests.bench.languages import LANGUAGES, PROGRAMS, run_languages
from tests.bench.memory import record_memory
from tests.bench.own_work import own_work
from tests.bench.plan import ALONE, LIGHT, ROWS, SMALL, Cell
from tests.bench.processes import ROOT, LoadSide, Server, ToolMissing, loading, serving
from tests.bench.profile import layer_of, profile
from tests.bench.report import KEYS, NAMES, Report
from tests.bench.rounds import measure_cell
from tests.bench.table import cell_name, client_line
from tests.bench.truncation import truncation_copies
from tests.bench.window import Window

MOMENT = 0.05
"""Seconds of a window whose rate does not matter."""


# --- figures ----------------------------------------------------------------------------


def _sample(calls: int, *, load: float = 0.5, server: float = 1.0) -> Sample:
    return Sample(1.0, calls, load, server)


def test_a_figure_has_the_median_and_the_spread_of_the_rounds() -> None:
    assert Figure.of([3.0, 1.0, 9.0], Basis.RATE) == Figure(3.0, 1.0, 9.0, Basis.RATE)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7.0], 99, 7.0),
        ([2.0, 1.0], 50, 1.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        (list(range(1, 101)), 99, 99),
        (list(range(1, 202)), 99, 199),
    ],
)
def test_percentiles_are_by_nearest_rank(
    values: list[float], percent: float, expected: float
) -> None:
    assert percentile(values, percent) == expected


@pytest.mark.parametrize(
    ("load", "server", "basis"),
    [
        (0.85, 0.9, Basis.RATE),
        (0.86, 0.9, Basis.SERVER_CPU),
        (0.85, 0.89, Basis.SERVER_CPU),
    ],
)
def test_rates_count_only_where_the_server_was_the_limit(
    load: float, server: float, basis: Basis
) -> None:
    doubtful, sure = [_sample(10, load=load, server=server)], [_sample(10)]
    assert rate_ratio(doubtful, sure).basis is basis
    assert rate_ratio(sure, doubtful).basis is basis


def test_a_rate_ratio_is_made_inside_each_round() -> None:
    cell, floor = [_sample(50), _sample(10)], [_sample(100), _sample(40)]
    assert rate_ratio(cell, floor) == Figure(0.375, 0.25, 0.5, Basis.RATE)


def test_server_cpu_tells_the_same_ratio_as_rates() -> None:
    cell, floor = [_sample(50, load=0.9)], [_sample(100, load=0.9)]
    assert rate_ratio(cell, floor) == Figure(0.5, 0.5, 0.5, Basis.SERVER_CPU)


def test_a_cost_ratio_is_the_other_way_round() -> None:
    assert cost_ratio([_sample(50)], [_sample(100)]).median == 2.0
    idle = [_sample(100, server=0.5)]
    assert cost_ratio([_sample(50)], idle).median == 4.0


def test_a_latency_ratio_compares_the_percentiles() -> None:
    cell = [replace(_sample(3), latencies=(1.0, 2.0, 9.0))]
    floor = [replace(_sample(3), latencies=(1.0, 1.0, 3.0))]
    assert latency_ratio(50)(cell, floor).median == 2.0
    assert latency_ratio(99)(cell, floor).median == 3.0


# --- what is printed ----------------------------------------------------------------------


def test_the_last_line_holds_the_named_figures() -> None:
    report = Report()
    for name in NAMES:
        report.add(name, "a ÷ b", Figure(1.5, 1.0, 2.0, Basis.RATE), "≤ 2")
    *lines, last = report.lines()
    assert json.loads(last) == dict.fromkeys(
        (
            "cycle_small",
            "cycle_medium",
            "cycle_large",
            "batched_gain",
            "attach_2000",
            "attach_growth",
            "truncate_10mib_ms_per_copy",
            "idle_rss_mib",
            "startup_cpu_ratio",
        ),
        1.5,
    )
    for name in NAMES:
        assert any(f"| {name} " in line for line in "\n".join(lines).splitlines())


def test_every_named_figure_is_measured_once() -> None:
    assert set(KEYS) <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_the_command_line_knows_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["--only", "nonsense"])
    assert "nonsense" in capsys.readouterr().err
    assert command_line.main(["--only", "truncate_10mib_ms_per_copy"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert list(json.loads(last)) == ["truncate_10mib_ms_per_copy"]


# --- bytes --------------------------------------------------------------------------------


@given(st.integers(1, 2**63), st.integers(1, 2**63), st.integers(1, 40_000))
def test_sealed_messages_are_messages_of_the_contract(
    sequence: int, acknowledged: int, size: int
) -> None:
    result = Results(size).of(b"t" * 16)
    message = pb.ConnectRequest.FromString(seal(sequence, acknowledged, [result, result]))
    assert (message.sequence, message.acknowledged) == (sequence, acknowledged)
    for frame in message.frames:
        assert frame.handler_result.invocation_token == b"t" * 16
        text = frame.handler_result.output.function.content[0].input_text.text
        assert len(text) == size


@given(
    st.integers(0, 2**63),
    st.integers(0, 2**63),
    st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=300)), max_size=5),
)
def test_the_server_s_messages_are_read_as_protobuf_reads_them(
    sequence: int, acknowledged: int, calls: list[tuple[bool, bytes]]
) -> None:
    message = pb.ConnectResponse(sequence=sequence, acknowledged=acknowledged)
    for invoked, token in calls:
        frame = message.frames.add()
        if invoked:
            frame.invoke_handler.invocation_token = token
            frame.invoke_handler.call.call_id = "call"
        else:
            frame.call_completed.call.call_id = "call"
    data = message.SerializeToString()
    assert sequence_of(data) == sequence
    assert list(frames_of(data)) == [
        (INVOKE_HANDLER, token) if invoked else (CALL_COMPLETED, b"") for invoked, token in calls
    ]


def test_a_refused_frame_ends_the_measurement() -> None:
    message = pb.ConnectResponse(frames=[pb.ServerFrame(frame_error=pb.FrameError(message="no"))])
    with pytest.raises(AssertionError, match="no"):
        list(frames_of(message.SerializeToString()))


@pytest.mark.parametrize("size", [86, 200, 2 << 10, 8 << 10])
def test_arguments_and_texts_have_the_size_they_should(size: int) -> None:
    assert len(arguments_of(size)) == len(text_of(size).encode()) == size
    json.loads(arguments_of(size))


def test_each_call_has_its_own_id_and_each_turn_its_end() -> None:
    dispatches = Dispatches(200)
    frames = [
        pb.ClientFrame.FromString(frame)
        for _ in range(2 * TURN_CALLS + 1)
        for frame in dispatches.next()
    ]
    calls = [frame.dispatch_call.call for frame in frames if frame.HasField("dispatch_call")]
    assert len({call.call_id for call in calls}) == 2 * TURN_CALLS + 1
    assert [call.turn_id for call in calls[TURN_CALLS - 1 : TURN_CALLS + 1]] == [
        "turn_00000000",
        "turn_00000001",
    ]
    ends = [frame.end_turn.turn_id for frame in frames if frame.HasField("end_turn")]
    assert ends == ["turn_00000000", "turn_00000001"]


def test_hello_asks_for_the_views() -> None:
    (frame,) = pb.ConnectRequest.FromString(hello([output_pb.VIEW_LOG, output_pb.VIEW_HOOK])).frames
    assert list(frame.hello.options.direct_views.views) == [
        output_pb.VIEW_LOG,
        output_pb.VIEW_HOOK,
    ]
    (frame,) = pb.ConnectRequest.FromString(hello()).frames
    assert not frame.hello.HasField("options")


# --- windows ------------------------------------------------------------------------------


async def test_a_window_without_length_goes_on_until_it_is_stopped() -> None:
    stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    window = Window(1, None, stopped)
    assert not window.over
    stopped.set_result("stop")
    assert window.over


async def test_a_window_waits_for_its_first_call() -> None:
    window = Window(os.getpid(), 0.0)
    window.open()
    assert not window.over
    window.counts.calls += 1
    assert window.over
    assert window.close()["calls"] == 1


# --- both sides, for real -----------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("bench", numbered=True)
    folder.chmod(0o700)
    with serving(folder) as running:
        yield running


@pytest.fixture(scope="module")
def sides(server: Server) -> Iterator[tuple[LoadSide, LoadSide]]:
    with loading(server) as load, loading(server) as other:
        yield load, other


@pytest.mark.parametrize("target", ["cycle", "cycle_echo"])
@pytest.mark.parametrize(
    "shape", [ALONE, SMALL, replace(SMALL, output_bytes=10 << 10, all_views=True)]
)
def test_both_sides_get_as_many_messages_and_only_the_sidecar_gathers_its_own(
    sides: tuple[LoadSide, LoadSide], target: str, shape: Cycle
) -> None:
    sample = measure_cell(Cell(target, shape), MOMENT, *sides)
    assert sample.calls > 0
    # two each way for a call, but for those on their way as the window opens or closes
    tolerance = 2 * shape.in_flight
    assert abs(sample.messages_sent - 2 * sample.calls) <= tolerance
    if target == "cycle_echo" or shape.in_flight == 1:
        assert abs(sample.messages_received - 2 * sample.calls) <= tolerance
    else:
        assert sample.messages_received <= 2 * sample.calls + tolerance
    assert len(sample.latencies) == (sample.calls if shape.in_flight == 1 else 0)


def test_frames_that_are_ready_together_travel_together(sides: tuple[LoadSide, LoadSide]) -> None:
    shape = replace(SMALL, in_flight=64, batched=True)
    sample = measure_cell(Cell("cycle", shape), MOMENT, *sides)
    assert sample.messages_sent + sample.messages_received < sample.calls


def test_paced_calls_keep_their_distance(sides: tuple[LoadSide, LoadSide]) -> None:
    sample = measure_cell(Cell("cycle", replace(ALONE, period_seconds=MOMENT / 4)), MOMENT, *sides)
    assert sample.calls <= 5


def test_a_stream_is_measured_beside_another(sides: tuple[LoadSide, LoadSide]) -> None:
    cell = Cell("cycle", LIGHT, beside=Cell("cycle_echo", SMALL))
    assert measure_cell(cell, MOMENT, *sides).latencies


@pytest.mark.parametrize(
    "cell",
    [
        Cell("attach", Attach(outputs=RECORDS)),
        Cell("attach_echo", Attach(outputs=RECORDS)),
        Cell("attach", Attach(outputs=2, base=3, records=1, changing=True, in_flight=1)),
    ],
    ids=cell_name,
)
def test_a_prompt_is_described_and_answered(sides: tuple[LoadSide, LoadSide], cell: Cell) -> None:
    sample = measure_cell(cell, MOMENT, *sides)
    assert sample.calls > 0
    assert sample.server_cpu_seconds > 0


def test_every_row_has_a_cell_and_a_floor_that_differ() -> None:
    assert all(row.cell != row.floor for row in ROWS)


def test_two_checkouts_are_compared_by_cost_and_latency() -> None:
    found = against(ROOT, Cell("cycle", ALONE), starts=2, rounds=1, seconds=MOMENT)
    assert found.keys() == {"server CPU a call", "p50"}
    assert all(ratio.mean > 0 and ratio.error >= 0 for ratio in found.values())


def test_the_other_server_is_that_of_the_other_checkout(tmp_path: Path) -> None:
    package = tmp_path / "server" / "sidecall_server"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('raise SystemExit("the other one")')
    with pytest.raises(AssertionError, match="the other one"):
        against(tmp_path, Cell("cycle", ALONE), starts=2, rounds=1, seconds=MOMENT)


def test_the_error_of_a_comparison_is_that_of_its_mean() -> None:
    assert Ratio.of([2.0, 2.0]).error == 0.0
    mean, error = Ratio.of([1.0, 4.0])
    assert mean == pytest.approx(2.0)
    assert error == pytest.approx(2.0 * math.log(2.0))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere", "one_at_a_time"], "holds no server/sidecall_server"),
        ([str(ROOT), "one_at_a_time", "--starts", "1"], "--starts 2 or more"),
        ([str(ROOT), "nothing"], "invalid choice"),
    ],
)
def test_a_comparison_says_what_it_needs(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        against_command(arguments)
    assert said in capsys.readouterr().err


# --- alone --------------------------------------------------------------------------------


def test_own_work_is_of_whole_calls_one_at_a_time() -> None:
    busy, awoken = own_work(Cycle(200, 1 << 10), rounds=1)
    assert busy.median > 0
    assert awoken.median > 0


def test_truncation_is_compared_with_a_copy() -> None:
    figure = truncation_copies("text " * 20_000)
    assert 0 < figure.lowest <= figure.median <= figure.highest


def test_the_footprint_is_that_of_processes() -> None:
    memory, start = footprint(1)
    assert memory.median > 10
    assert start.median > 0


def test_a_profile_says_where_the_time_went() -> None:
    head, _, *lines = profile(Cell("cycle", SMALL), seconds=0.5)
    assert re.fullmatch(r"[1-9]\d* samples of processor time", head)
    assert any("Handle._run" in line for line in lines)


@pytest.mark.parametrize(
    ("frame", "layer"),
    [
        ("/x/server/sidecall_server/domain/recorder.py:Recorder.attach", "domain"),
        ("/x/server/sidecall_server/wire/codec.py:ProtobufCodec.encode", "wire, with protobuf"),
        ("/python/asyncio/events.py:Handle._run", "asyncio, with gRPC's Cython"),
        ("<string>:<lambda>", "the rest"),
    ],
)
def test_a_frame_belongs_to_a_layer(frame: str, layer: str) -> None:
    assert layer_of(frame) == layer


def test_the_load_side_says_why_it_ended(tmp_path: Path) -> None:
    with loading(Server(f"unix:{tmp_path}/nobody.sock", 1)) as load, pytest.raises(AssertionError):
        load.begin(Cell("cycle", SMALL), MOMENT)


# --- the document -------------------------------------------------------------------------


def test_what_was_measured_takes_the_place_of_what_stood_there() -> None:
    document = "a\n<!-- x -->\n\nold\n\n<!-- end of x -->\nb\n"
    once = with_text(document, "x", r"new \1")
    assert once == "a\n<!-- x -->\n\nnew \\1\n\n<!-- end of x -->\nb\n"
    assert with_text(once, "x", "old") == document
    with pytest.raises(ValueError, match="'y' 0 times"):
        with_text(document, "y", "")


def test_the_document_has_a_place_for_everything() -> None:
    document = DOCUMENT.read_text()
    for mark in ("machine", "results", *(f"profile of {name}" for name in PROFILED)):
        with_text(document, mark, "")
    for plot in ("throughput.svg", "attach.svg"):
        assert f"(tests/bench/plots/{plot})" in document
        assert (PLOTS / plot).exists()
    for name in (*NAMES, "--publish", "--profile", "--quick", "--only"):
        assert name in document


# --- clients ------------------------------------------------------------------------------


def test_the_cycle_runs_through_a_client() -> None:
    python = LANGUAGES[0]
    missing = replace(python, name="Nothing", needs="no-such-tool")
    broken = replace(python, name="Broken", build=(sys.executable, "-c", "raise SystemExit(1)"))
    told: list[str] = []
    samples = run_languages([missing, broken, python], 1, MOMENT, told.append)
    assert samples["Nothing"] == samples["Broken"] == []
    assert samples["Python"][0].calls > 0
    assert "SKIPPED: Nothing: no-such-tool is not installed" in told
    assert any(line.startswith("SKIPPED: Broken: it cannot be built") for line in told)
    assert client_line("Nothing", samples["Nothing"])[1] == "skipped"


def test_copies_are_counted_where_there_is_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(COMPILER) is not None:
        assert copies_per_output("cycle_echo", MOMENT).median > 0.5
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing, match=f"{COMPILER} is not installed"):
        copies_per_output("cycle_echo", MOMENT)


def test_full_tables_are_measured_in_memory() -> None:
    assert record_memory(Fill(sessions=2, records=64, arguments_bytes=8 << 10)).median > 0.5


def test_the_plots_are_drawn_from_samples(tmp_path: Path) -> None:
    lines = {"sidecall": {count: Cell("attach", Attach(count)) for count in (1, 10)}}
    samples = {cell: [_sample(10), _sample(20)] for cell in lines["sidecall"].values()}
    figure = plots.plot(lines, samples, lambda sample: sample.rate, ("outputs", "calls"))
    plots.save(tmp_path / "plot.svg", figure)
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(word in drawn for word in ("outputs", "calls", "sidecall"))


def test_the_go_program_needs_what_the_go_client_needs() -> None:
    """Else it no longer builds, and is only skipped."""
    needed = re.compile(r"^\s*(?:require )?(\S+) (v\S+)", re.MULTILINE)
    client = dict(needed.findall((ROOT / "clients" / "go" / "go.mod").read_text()))
    program = dict(needed.findall((PROGRAMS / "go" / "go.mod").read_text()))
    assert program == client | {"github.com/sidecall/sidecall/clients/go": "v0.0.0"}


def test_the_rust_program_needs_what_the_rust_client_needs() -> None:
    needed = re.compile(r'^(\w+) = .*"(=[\d.]+)"', re.MULTILINE)
    client = needed.findall((ROOT / "clients" / "rust" / "Cargo.toml").read_text())
    program = needed.findall((PROGRAMS / "rust" / "Cargo.toml").read_text())
    assert program
    assert set(program) <= set(client)
