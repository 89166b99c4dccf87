"""Differences of sequences: which of a target's are behind the source's, missing, or not as at the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_ddlrepl.engines.abilities.sequences import SequenceStep, SequencesWritten
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.sequences.plan import PlannedSequences
from airflow_ddlrepl.flow.sequences.replicate import bring_sequences, is_wanted, planned, source_sequences
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import SequenceCatalog


@dataclass(frozen=True, slots=True)
class SequenceDifference:
    """A sequence difference says what a target's sequence, or a default that draws from one, lacks.

    name: of the sequence at the source, or of the table at the target; None where `why` names it. is_in_flight: the
    source's sequence has given numbers since the target was last brought to it; the next cycle brings them.
    """

    name: TableName | None
    why: str
    is_in_flight: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.why}" if self.name is not None else self.why


def sequence_differences(
    run: RunContext, target: str, source: SequenceCatalog | None = None
) -> tuple[SequenceDifference, ...]:
    """Return what the end of a cycle would change of a target's sequences; nothing is written.

    Empty: each is as far as the source's, or further, and counts alike. Empty, too, without `db_sequence`.
    source: as `source_sequences` returned it; None: as it is now.
    """
    if not is_wanted(run):
        return ()
    return tuple(_differences(planned(run, target, source or source_sequences(run, [target]))))


def set_sequences(run: RunContext, target: str, headroom: int) -> SequencesWritten:
    """Set a target's sequences so many numbers ahead of the source's as these are now.

    Inside of a stage, at a target that the run has claimed. A sequence that has not so many numbers left is as at the
    source. Raises what a target refuses of one sequence, when all others are set.
    """
    return bring_sequences(run, target, source_sequences(run, [target]), headroom)


def _differences(found: PlannedSequences) -> Iterator[SequenceDifference]:
    for step in found.plan.sequences:
        if why := _why(step):
            yield SequenceDifference(step.source, why, step.is_about_value and step.moved_on)
    for one in found.plan.defaults:
        verb = "does not draw" if one.pieces else "draws"
        yield SequenceDifference(one.at.table, f"the default of column {one.at.column} {verb} from a sequence")
    for error in found.refused:
        yield SequenceDifference(None, error.message)


def _why(step: SequenceStep) -> str:
    if step.before is None:
        return "the sequence is not at the target"
    parts = []
    if step.before != step.name:
        parts.append(f"it is still called {step.before} at the target")
    if step.definition is not None:
        parts.append("it counts in another way")
    if step.changes_owner:
        parts.append("it does not go with the same column")
    if step.value is not None and step.definition is None:
        parts.append(f"it is behind the source's, which is at {step.seen.last}")
    return ", ".join(parts)
