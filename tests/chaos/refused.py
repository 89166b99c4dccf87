"""The life of a channel whose targets refuse rows of some tables while its runs are killed."""

from __future__ import annotations

from typing import Any

from tests.chaos.life import Life, Story, lived
from tests.chaos.runs import OneProcess
from tests.chaos.source import Writer
from tests.histories.player import ACTIVATE, Step
from tests.histories.refusals import REFUSALS
from tests.histories.refused_rows import ACCEPT, REFUSE, Refusing


def killed_while_refused(server: Any, seed: int, kills: int) -> Story:
    """One life with so many kills: refusals come and go in between, so that some hit a suspension or a catch-up."""

    def live(living: Life[Refusing]) -> None:
        rng = living.rng
        living.player.play(ACTIVATE)
        while len(living.story.kills) < kills:
            for _ in range(rng.randrange(1, 3)):
                what = f"{REFUSE} 0 {rng.choice(list(REFUSALS))}" if rng.random() < 0.6 else f"{ACCEPT} 0"
                living.player.play(Step(None, f"{what} {rng.randrange(1 << 20)}"))
            living.go_on()
            with Writer(living.replica.source, rng.randrange(1 << 30)):
                assert living.die_anywhere("replicate", OneProcess), "no run lived long enough to be killed"
        living.settle()

    return lived(server, seed, Refusing, live)
