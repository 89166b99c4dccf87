"""Rewinds that are killed: into the replay, and of a live target that goes back and on. Done again, they end right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_ddlrepl.model.position import Position
from tests.chaos.life import KILLS, Life, Story, lived
from tests.chaos.runs import OneProcess
from tests.chaos.source import Writer
from tests.histories.player import ACTIVATE, REPLICATE, Player
from tests.histories.rewinds import LIVE, PAST, REMEMBER, Memory, Rememberer, pattern


class Returner(Rememberer):
    """Goes back when it is told to, and not at its end."""

    def finish(self) -> None:
        Player.finish(self)


def killed_rewinds(server: Any, seed: int, kills: int = KILLS) -> Story:
    """One life in which so many rewinds are killed at random moments, each to one of the points noted before it."""

    def live(living: Life[Returner]) -> None:
        player = living.player
        player.play(ACTIVATE)
        while len(living.story.kills) < kills:
            player.play(REMEMBER)
            living.go_on()
            player.play(REPLICATE)
            if player.memories:
                memory = living.rng.choice(player.memories)
                go_back = living.rng.choice([_into_the_past, _live])
                go_back(living, memory)
        living.settle()

    return lived(server, seed, Returner, live)


def _into_the_past(living: Life[Returner], memory: Memory) -> None:
    player = living.player
    if wanted := player.possible(memory, PAST):
        _die(living, memory, PAST, wanted)
        if living.rng.random() < 0.5:
            player.play(REPLICATE)
        _again(living, memory, PAST, wanted)
        player.check_past(memory, wanted)


def _live(living: Life[Returner], memory: Memory) -> None:
    """What is done again has rows to bring back, or a cycle has gone on from what the killed one left."""
    player = living.player
    if wanted := player.possible(memory, LIVE):
        is_damaged = living.rng.random() < 0.5
        if is_damaged:
            player.take_rows(wanted)
        _die(living, memory, LIVE, wanted)
        if not is_damaged:
            player.play(REPLICATE)
            wanted = player.possible(memory, LIVE)
        _again(living, memory, LIVE, wanted)
        living.settle()


def _die(living: Life[Returner], memory: Memory, into: str, wanted: set[str]) -> None:
    def run(stage: str, file: Path) -> OneProcess:
        return OneProcess(stage, file, "", Position.parse(memory.position), into, [pattern(name) for name in wanted])

    with Writer(living.replica.source, living.rng.randrange(1 << 30)):
        died = living.die_anywhere("rewind", run)
    assert died, "no rewind lived long enough to be killed"
    living.story.kills[-1] += f" on its way to {memory.position}, {into}"


def _again(living: Life[Returner], memory: Memory, into: str, wanted: set[str]) -> None:
    living.replica.rewind(memory.position, into, [pattern(name) for name in wanted])
