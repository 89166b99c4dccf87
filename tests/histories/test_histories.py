"""Random histories, reproducible from their seeds: whatever happens at the source, the target equals it at the end.

DDLREPL_HISTORIES: how many seeds of each kind; DDLREPL_HISTORIES_FROM: the first. Without: a sample. The plain ones
play every variant of a channel; of each other kind there are three, two where points are gone back to, with other
variants than those of the next kind. `make chaos` and the modules beside this one play them by the thousand.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.histories.applied import Applying
from tests.histories.ddl_texts import Replaying
from tests.histories.histories import generate, report, script, shrink
from tests.histories.keys import KeyRememberer
from tests.histories.left_out import Leaving
from tests.histories.mapping_rewinds import RestrictingRememberer, TransformingRememberer
from tests.histories.multiranges import RangingRememberer
from tests.histories.other_engines.duckdb_files import Filing
from tests.histories.other_engines.iceberg_lakes import Laking
from tests.histories.player import VARIANTS, Player
from tests.histories.properties import Renaming, RenamingRememberer
from tests.histories.refused_rows import Refusing
from tests.histories.restrictions import Restricting
from tests.histories.rewinds import Rememberer
from tests.histories.silent_sessions import SilentRememberer
from tests.histories.transformations import Transforming
from tests.histories.without_triggers import InspectingRememberer

FIRST = int(os.environ.get("DDLREPL_HISTORIES_FROM", "1"))
PER_TEST = len(VARIANTS)
SAMPLE, SAMPLE_REWOUND = 3, 2
SHRINK_SECONDS = 120


def _starts(count: int, first: int) -> range:
    return range(first, first + int(os.environ.get("DDLREPL_HISTORIES", count)), PER_TEST)


def _check(server: Any, first: int, kind: type[Player] = Player) -> None:
    compared = suspended = 0
    for seed in range(first, first + _count(kind)):
        outcome = generate(server, seed, kind)
        compared += outcome.compared
        suspended += outcome.suspended
        print(report(seed, outcome))
        if outcome.failure:
            pytest.fail(script(seed, shrink(server, seed, outcome, SHRINK_SECONDS, kind)), pytrace=False)
    assert compared or not issubclass(kind, Rememberer)
    assert suspended or not issubclass(kind, Refusing)


def _count(kind: type[Player]) -> int:
    """How many seeds a test plays."""
    if kind is Player or "DDLREPL_HISTORIES" in os.environ:
        return PER_TEST
    return SAMPLE_REWOUND if issubclass(kind, Rememberer) else SAMPLE


def _sampled(kind: type[Rememberer], past: int = 3, live: int = 9) -> type[Rememberer]:
    """Go back to one of so many points, the replay and the live target; `make chaos` goes back to all of them."""
    return type(f"Sampled{kind.__name__}", (kind,), {"past_every": past, "live_every": live})


@pytest.mark.parametrize("first", _starts(10, FIRST))
def test_histories_on_18(pg18: Any, first: int) -> None:
    _check(pg18, first)


@pytest.mark.thorough
@pytest.mark.req("HVR-W-06", "HVR-W-11", "HVR-W-14")
@pytest.mark.parametrize("first", _starts(5, FIRST + 60))
def test_histories_that_are_rewound(pg18: Any, first: int) -> None:
    """Every point of them that was noted is gone back to, and what stood there then stands there again."""
    _check(pg18, first, _sampled(Rememberer, 1, 5))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 80))
def test_histories_with_properties(pg18: Any, first: int) -> None:
    """The channel file gives columns other names, or leaves them out, and says otherwise every few cycles."""
    _check(pg18, first, Renaming)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 102))
def test_histories_with_properties_that_are_rewound(pg18: Any, first: int) -> None:
    """A replay shows what stood there by the names that the file gives it now."""
    _check(pg18, first, _sampled(RenamingRememberer))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 123))
def test_histories_that_are_replayed_as_text(pg18: Any, first: int) -> None:
    """What is refused is adapted in a run of its own."""
    _check(pg18, first, Replaying)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 141))
def test_histories_with_conditions(pg18: Any, first: int) -> None:
    """Rows come into the conditions and go out of them, and every few cycles there are others."""
    _check(pg18, first, Restricting)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 160))
def test_histories_that_apply_processes_carry(pg18: Any, first: int) -> None:
    """Whatever an apply process of Oracle Streams is not told to wait with is at its target as at the source."""
    _check(pg18, first, Applying)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 1000))
def test_histories_on_15(pg15: Any, first: int) -> None:
    _check(pg15, first)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 164))
def test_histories_with_functions(pg18: Any, first: int) -> None:
    """They give the values as they are, of other columns every few acts: loads, the log and comparisons agree."""
    _check(pg18, first, Transforming)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [_sampled(RestrictingRememberer), _sampled(TransformingRememberer)])
def test_histories_with_conditions_or_functions_that_are_rewound(pg18: Any, kind: type[Player]) -> None:
    """A point is gone back to by what the file says then: other rows or values than the targets had at the time."""
    _check(pg18, FIRST + 168, kind)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 184))
def test_histories_with_multiranges(pg18: Any, first: int) -> None:
    """Range types say what their multiranges are called, and these are renamed, moved and used in columns."""
    _check(pg18, first, _sampled(RangingRememberer))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 190))
def test_histories_without_event_triggers(pg18: Any, first: int) -> None:
    """Between a change and what tells it the plan calls the table unsafe; at any other point it is as it was."""
    _check(pg18, first, _sampled(InspectingRememberer))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 198))
def test_histories_with_a_silent_session(pg18: Any, first: int) -> None:
    """What a superuser altered with event triggers off is shown by later statements, or found by inspections."""
    _check(pg18, first, _sampled(SilentRememberer))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 205))
def test_histories_of_keys_and_generated_columns(pg18: Any, first: int) -> None:
    """Keys go, come again and are deferrable, columns stand in any order, dropped tables come again with others."""
    _check(pg18, first, _sampled(KeyRememberer))


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 212))
def test_histories_of_tables_that_leave_the_stream(pg18: Any, first: int) -> None:
    """They are unlogged and logged again, lose their key, have generated columns: all that are not named are equal."""
    _check(pg18, first, Leaving)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(6, FIRST + 220))
def test_histories_with_refused_rows(pg18: Any, first: int) -> None:
    """Targets refuse rows of some tables for a while: each cycle names these, and applies all others."""
    _check(pg18, first, Refusing)


@pytest.mark.thorough
@pytest.mark.parametrize("first", _starts(5, FIRST + 1))
def test_histories_into_duckdb_files(pg18: Any, first: int) -> None:
    """Each file is as the source, but for tables that it can't have, which each cycle names."""
    _check(pg18, first, Filing)


@pytest.mark.thorough
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", _starts(5, FIRST + 2))
def test_histories_into_lakes(pg18: Any, lake_spark: None, first: int) -> None:
    """Each lake is as the source, but for tables that it can't have, which each cycle names."""
    _check(pg18, first, Laking)
