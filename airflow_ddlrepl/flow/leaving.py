"""Leaving: tables of the channel whose rows are not in the stream, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.left_out import LeftOut
from airflow_ddlrepl.flow.cycle import Cycle, log


def left_out(cycle: Cycle) -> list[LeftOut]:
    """The channel's tables whose rows no cycle brings, and that a target would take."""
    return [one for one in not_in_the_log(cycle) if not one.is_reloaded]


def not_in_the_log(cycle: Cycle) -> list[LeftOut]:
    """These, and those that cycles load whole."""
    targets = cycle.channel.targets
    return [
        one for one in cycle.source.left_out() if not all(target.rules.takes_nothing(one.name) for target in targets)
    ]


def warn_of_left_out(missing: Sequence[LeftOut]) -> None:
    """Nobody has to look for it: every run's log names the tables that the targets do not get."""
    for one in missing:
        log.warning(
            "%s is left out, so its rows do not reach the targets: %s. It is loaded and takes part again as soon as it"
            " can be in the stream",
            one.name,
            one,
        )
