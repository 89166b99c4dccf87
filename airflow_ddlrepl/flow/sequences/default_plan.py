"""The plan of defaults that draw from sequences: a target's column has one where the source's has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_ddlrepl.ddl.sql.expression import follows_sequences
from airflow_ddlrepl.engines.abilities.sequences import DefaultStep
from airflow_ddlrepl.flow.sequences.places import TargetColumns
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import SequenceCatalog, SequenceDefault
from airflow_ddlrepl.model.target_columns import history_columns


class DefaultPlanner:
    """This object plans the defaults of one target; they are compared by the sequences that they draw from.

    names: the target's names of the sequences that it has after the plan, by the source's id. sources: by the id of a
    target's sequence, that of the source's.
    """

    def __init__(
        self,
        source: SequenceCatalog,
        here: SequenceCatalog,
        columns: TargetColumns,
        names: Mapping[int, TableName],
        sources: Mapping[int, int],
    ) -> None:
        self.source = source
        self.here = here
        self.columns = columns
        self.names = names
        self.sources = sources

    def run(self) -> Iterator[DefaultStep]:
        """Yield the steps; those of a partitioned table come before those of its partitions."""
        there = {key: one for one in self.here.defaults if (key := self.columns.source_of(one.at.table, one.at.column))}
        has = {key: self._pieces(one) for key, one in there.items()}
        drawing = set()
        for one in self.source.defaults:
            key = (one.at.table_id, one.at.column_id)
            drawing.add(key)
            place = self.columns.find(one.at)
            if place is None or not self._can_follow(one):
                continue
            if has.get(key) != one.pieces:
                column = self.columns.column(one.at)
                pieces = tuple(self.names[p] if isinstance(p, int) else p for p in one.pieces)
                yield DefaultStep(place, pieces, is_same_type=column is not None and column.type.text == one.type)
        for key, one in there.items():
            if has[key] is not None and key not in drawing and key[0] not in self.source.locked:
                yield DefaultStep(one.at)

    def _pieces(self, one: SequenceDefault) -> tuple[str | int, ...] | None:
        """Return a target's default with the source's sequences; None where it draws from others."""
        if not one.sequence_ids <= self.sources.keys():
            return None
        return tuple(self.sources[piece] if isinstance(piece, int) else piece for piece in one.pieces)

    def _can_follow(self, one: SequenceDefault) -> bool:
        """Can the target have this default of the source's? Its sequences are there, and all else that it calls."""
        column, shape = self.columns.column(one.at), self.columns.shape(one.at)
        if column is None or shape is None or column.identity or column.generated or history_columns(shape):
            return False
        text = "".join(piece if isinstance(piece, str) else "''" for piece in one.pieces)
        named = sum(isinstance(piece, int) for piece in one.pieces)
        types = {(of.schema, of.name) for of in shape.types}
        return one.sequence_ids <= self.names.keys() and follows_sequences(text, named, types)
