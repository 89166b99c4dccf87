"""The end of a cycle brings the sequences of every target to the source's, and past the numbers that rows have.

A sequence's value is in no log. It is read when the cycle's rows are at the target, so it is never behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.config.sections.places import is_further
from airflow_ddlrepl.engines.abilities.sequences import (
    HasSequences,
    SequencePlan,
    SequencesWritten,
    ShowsSequences,
    TrackedSequence,
)
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.sequences.plan import PlannedSequences, SequencesAt, plan_sequences
from airflow_ddlrepl.flow.sequences.selection import selected
from airflow_ddlrepl.model.sequence import SequenceCatalog
from airflow_ddlrepl.model.table_state import TableState


def is_wanted(run: RunContext) -> bool:
    """Does the channel file ask for sequences?"""
    return run.channel.db_sequence is not None


def source_sequences(run: RunContext, targets: Sequence[str]) -> SequenceCatalog:
    """Return the source's sequences as they are now, with the values of those that these targets have."""
    tables = {i for target in targets for i in run.target(target).state().table_states}
    return able(run.source, ShowsSequences).sequences.catalog(partial(selected, run.channel, tables=tables))


def planned(run: RunContext, target: str, source: SequenceCatalog, headroom: int | None = None) -> PlannedSequences:
    """Return what brings a target's sequences to the source's; nothing is written.

    headroom: None: as the channel file says. Raises Unsupported ADP-166 for a kind of target without sequences.
    """
    if is_further(target):  # sequences, which MAP does not name, are with the first TARGET of tables
        return PlannedSequences()
    place = run.target(target)
    there = able(place, HasSequences).sequences
    known = there.tracked()
    tables = place.state().table_states
    here = there.catalog(partial(_compared, source, known, tables))
    wanted = run.channel.db_sequence
    settled = headroom if headroom is not None else wanted.headroom if wanted is not None else 0
    others = there.of_other_channels()
    at = SequencesAt(run.channel, target, source, here, known, tables, settled, others)
    found = plan_sequences(at)
    strange = there.owned_by_strangers({*found.names.values(), *(one.name for one in known.values())})
    return plan_sequences(replace(at, strange=strange)) if strange else found


def bring_sequences(
    run: RunContext, target: str, source: SequenceCatalog, headroom: int | None = None
) -> SequencesWritten:
    """Bring a target's sequences to the source's; what is refused of one keeps no other from it.

    source: as `source_sequences` returned it. headroom: None: as the channel file says. Raises at last what is refused.
    """
    found = planned(run, target, source, headroom)
    for warning in found.warnings:
        log.warning("target %s: %s", target, warning)
    written = SequencesWritten()
    if found.plan.does_anything:
        run.check_lock()
        written = able(run.target(target), HasSequences).sequences.write(found.plan, run.fence)
        for statement in written.statements:
            log.info("target %s: %s", target, redact(statement))
        for warning in written.warnings:
            log.warning("target %s: %s", target, warning)
    _raise_first(target, [*found.refused, *written.refused])
    return written


def bring_all(run: RunContext, targets: Sequence[str], isolation: FailureIsolation) -> Counter[str]:
    """Bring the sequences of these targets to the source's, where the channel file asks for it; else forget them.

    Return how many were set, and how many statements changed them or defaults.
    """
    done: Counter[str] = Counter()
    for target in targets if not is_wanted(run) else ():
        with isolation.one(target):
            _forget(run, target)
    if not is_wanted(run) or not targets:
        return done
    with isolation.one():
        source = source_sequences(run, targets)
        for target in targets:
            with isolation.one(target):
                written = bring_sequences(run, target, source)
                done.update({"set": written.values, "statements": len(written.statements)})
    return +done


def _forget(run: RunContext, target: str) -> None:
    """Stop tracking a target's sequences, which stay as they are."""
    place = find(run.target(target), HasSequences)
    if place is not None and (known := place.sequences.tracked()):
        place.sequences.write(SequencePlan(forgets=frozenset(known)), run.fence)


def has_sequence_changes(run: RunContext, targets: Sequence[str]) -> bool:
    """Would `bring_sequences` do anything, or report anything, at one of these targets?"""
    if not is_wanted(run) or not targets:
        return False
    source = source_sequences(run, targets)
    return any(found.plan.does_anything or found.refused for found in (planned(run, t, source) for t in targets))


def _compared(
    source: SequenceCatalog,
    known: Mapping[int, TrackedSequence],
    tables: Mapping[int, TableState],
    here: SequenceCatalog,
) -> Collection[int]:
    """Return the ids of a target's sequences that may be those of the source's."""
    names = {source.sequences[i].name.name for i in source.values}
    tracked, ours = {one.name for one in known.values()}, {one.name for one in tables.values()}
    return [
        one.id
        for one in here.sequences.values()
        if one.name.name in names or one.name in tracked or (one.owner is not None and one.owner.table in ours)
    ]


def _raise_first(target: str, refused: Sequence[DdlReplError]) -> None:
    for other in refused[1:]:
        log.error("target %s: %s", target, other)
    for error in refused:
        raise error.replaced(target=target)
