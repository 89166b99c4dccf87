"""Sequences of a target are ahead of the source's before applications draw from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from airflow_ddlrepl.config.sections.db_sequences import DbSequences
from airflow_ddlrepl.engines.abilities.sequences import ShowsSequences
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.flow.cutover.condition import Code, Condition
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.sequences.differences import sequence_differences
from airflow_ddlrepl.flow.sequences.replicate import is_wanted
from airflow_ddlrepl.flow.sequences.selection import selected
from airflow_ddlrepl.model.table_state import TableState


def sequence_conditions(run: RunContext, target: str, tables: dict[int, TableState]) -> Iterator[Condition]:
    """Yield the condition about a target's sequences. tables: those of the channel there, by the source's id."""
    if is_wanted(run):
        behind = tuple(map(str, sequence_differences(run, target)))
        hint = "the cut-over sets them, with `--headroom` so many numbers ahead; before it, `ddlrepl replicate` does"
        yield Condition(Code.SEQUENCES, target, "sequences that are not ahead of the source's", behind, hint)
        return
    channel = run.channel.model_copy(update={"db_sequence": DbSequences()})
    catalog = able(run.source, ShowsSequences).sequences.catalog(partial(selected, channel, tables=tables))
    names = sorted(str(catalog.sequences[one].name) for one in catalog.values)
    hint = "set `db_sequence: true` (docs/sequences.md), or setval at the target by yourself"
    what = "sequences that the channel file leaves out"
    yield Condition(Code.SEQUENCES_LEFT_OUT, target, what, tuple(names), hint)
