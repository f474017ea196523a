"""Fuzzing stays alive: each target a little, always the same; and it finds what is planted."""

from __future__ import annotations

import pytest
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.fuzz.targets import SEEDS, Target, check, targets
from tests.fuzz.worlds import REQUESTS, World

EXAMPLES = 25


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_whatever_comes_is_answered_or_refused(target: Target) -> None:
    check(target, EXAMPLES, seed=None)


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_the_seeds_are_taken_as_they_are(target: Target) -> None:
    for seed in target.seeds:
        refusals = target.run(seed.SerializeToString())
        hello = isinstance(seed, pb.ClientFrame | pb.ConnectRequest) and b"fuzz" in (
            seed.SerializeToString()
        )
        assert bool(refusals) == hello, "only a second Hello has no place"


def test_every_request_has_a_seed() -> None:
    names = {path.name.partition(".")[0] for path in (SEEDS / "requests").iterdir()}
    assert names == set(REQUESTS)


def test_an_input_that_breaks_the_server_is_found_and_made_small() -> None:
    async def breaks(world: World, data: bytes) -> None:
        await world.request("TruncateText", data)
        assert len(data) < 5, f"planted: {len(data)}"

    (target,) = [one for one in targets() if one.name == "TruncateText"]
    with pytest.raises(AssertionError, match="planted: 5"):
        check(Target("planted", target.seeds, breaks), 100, seed=1)
