"""Lineages: what two of them share."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.postgres.log.lineage import Lineage, PostgresLogIdentity, timeline_of
from airflow_ddlrepl.model.position import Position

HISTORY = """1\t0/3000148\tno recovery target specified

# a comment
2\t0/5000000\tbefore 2026-11-21 17:00:00+00
"""
THIRD = Lineage(3, ((1, Position.parse("0/3000148")), (2, Position.parse("0/5000000"))))


def test_a_history_file() -> None:
    assert Lineage.of_history(3, HISTORY) == THIRD
    assert Lineage.of_history(3, "") == Lineage(3, ())


@pytest.mark.parametrize("lineage", [THIRD, Lineage(1), Lineage(7, None)], ids=str)
def test_a_lineage_is_read_as_it_is_printed(lineage: Lineage) -> None:
    assert Lineage.parse(str(lineage)) == lineage


@pytest.mark.parametrize(
    ("before", "at", "now", "kept"),
    [
        ("1", "9/0", "1", True),
        ("1@0/30 2", "9/0", "1@0/30 2", True),
        ("1", "0/30", "1@0/30 2", True),
        ("1", "0/31", "1@0/30 2", False),
        ("1", "0/30", "1@0/30 2@0/50 3", True),
        ("1", "0/31", "1@0/30 2@0/50 3", False),
        ("1@0/30 2", "0/50", "1@0/30 2@0/50 3", True),
        ("1@0/30 2", "0/51", "1@0/30 2@0/50 3", False),
        ("1@0/30 2", "0/20", "1@0/20 2", True),  # two standbys that were promoted beside one another
        ("1@0/30 2", "0/21", "1@0/20 2", False),
        ("1@0/20 2", "0/21", "1@0/30 2", False),
        ("1@0/30 2@0/50 3", "0/40", "1@0/30 2@0/40 4", True),
        ("1@0/30 2@0/50 3", "0/41", "1@0/30 2@0/40 4", False),
        ("1@0/30 2", "0/30", "1@0/30 3", True),
        ("1@0/30 2", "0/31", "1@0/30 3", False),
        ("1@0/30 2", "0/30", "1", True),  # back on the old server
        ("1@0/30 2", "0/31", "1", False),
        ("1", "0/25", "1@0/30 2@0/20 3", False),  # a recovery to before the last fail-over
        ("1", "0/20", "1@0/30 2@0/20 3", True),
        ("5@0/30 6", "0/1", "4@0/30 6", False),
        ("? 2", "0/99", "? 2", True),
        ("1", "0/1", "? 2", False),
        ("? 2", "0/1", "1@0/30 3", False),
        ("1", "0/3000028", "1@0/3000000 2", True),  # the header of a new file of the log
        ("1", "0/3000029", "1@0/3000000 2", False),
        ("1", "0/3002018", "1@0/3002000 2", False),
    ],
)
def test_what_is_kept(before: str, at: str, now: str, kept: bool) -> None:
    assert Lineage.parse(now).contains_log(Lineage.parse(before), Position.parse(at)) is kept


@pytest.mark.parametrize(
    ("before", "now", "identity", "went_over"),
    [
        ("1", "1", "1", False),
        ("1", "1@0/30 2", "1@0/30 2", True),
        ("1@0/30 2", "? 2", "1@0/30 2", False),  # a server that can't say it any more has not gone over
        ("1@0/30 2", "? 3", "? 3", True),
    ],
)
def test_what_is_known_of_a_log_is_kept_until_it_goes_over(
    before: str, now: str, identity: str, went_over: bool
) -> None:
    found = PostgresLogIdentity("").continuity(before, now, Position.parse("0/30"))
    assert (found.identity, found.went_over) == (identity, went_over)
    assert f"timeline {timeline_of(now)}" in found.words


def test_no_identity_is_any_timeline() -> None:
    assert timeline_of("") == 0
