"""This module turns what TABLE and MAP say of a table's rows and columns into settings as the channel file has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from airflow_ddlrepl.config.sections.table_mapping import ColumnProperty, Property, Restriction
from airflow_ddlrepl.config.sections.target_tables import TargetTable
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters, TableParameter
from airflow_ddlrepl.goldengate.parameters.listing import table_of
from airflow_ddlrepl.goldengate.parameters.mapping import map_of
from airflow_ddlrepl.goldengate.parameters.overlaps import hidden
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter, ReplicatParameters
from airflow_ddlrepl.goldengate.parameters.rows import RowOptions
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.table_settings import ColumnName, OwnColumns, Rows
from airflow_ddlrepl.notation.condition.expression import Joined, Named
from airflow_ddlrepl.notation.condition.parser import condition, expression, spelled
from airflow_ddlrepl.notation.pattern_overlap import schema_and_name, tables_intersect

HISTORY = {"op_type": "{operation}", "op_position": "{position}", "op_sequence": "{sequence}"}
"""The columns that tell the rows of a history apart, where COLMAP maps none to these values of the change."""


class Parameters(NamedTuple):
    """These are the TABLE of an Extract and the MAP of a Replicat that decide about a table's rows, where there are."""

    table: TableParameter | None
    map: MapParameter | None


def parameters_of(
    name: TableName, extract: ExtractParameters | None, replicat: ReplicatParameters | None
) -> Parameters:
    """Return the parameters that decide about a table. name: at the source."""
    return Parameters(table_of(name, extract) if extract else None, map_of(name, replicat) if replicat else None)


def columns(by: Parameters) -> tuple[ColumnName, ...]:
    """Return the names of a table's columns at the target, and those that are absent there."""
    by_map = columns_by_map(by.map) if by.map else ()
    return (*by_map, *columns_by_table(by.table)) if by.table else by_map


def target_table(by: Parameters) -> OwnColumns | None:
    """Return what a table has only at the target; None: nothing."""
    return target_table_by_map(by.map) if by.map else None


def conflicts(by: Parameters) -> ConflictAnswers | None:
    """Return the answers to conflicts of a table, by the source's names of its columns; None: there are none."""
    return conflicts_by_map(by.map) if by.map and by.map.conflicts else None


def restriction(by: Parameters) -> Rows | None:
    """Return which rows and changes of a table a target takes, by TABLE and MAP together: all conditions have to hold.

    None: all of them.
    """
    there: list[RowOptions] = [one for one in by if one is not None]
    texts = list(dict.fromkeys(one.condition for one in there if one.condition))
    ignored = tuple(dict.fromkeys(kind for one in there for kind in one.ignore))
    if not texts and not ignored:
        return None
    parts = tuple(condition(text) for text in texts)
    whole = spelled(Joined("AND", parts) if len(parts) > 1 else parts[0]) if parts else ""
    found = Restriction.model_validate({"ignore": ignored, **({"condition": whole} if whole else {})})
    return Rows(condition=found.condition, ignore=found.ignore)


@prepared_once
def columns_by_table(by: TableParameter) -> tuple[ColumnName, ...]:
    """Return the columns that no target has, by COLS or COLSEXCEPT; the others keep their names."""
    if by.cols:
        return (*(_called(name, name) for name in by.cols), _absent("*"))
    return (_absent(*map(_exactly, by.cols_except)),) if by.cols_except else ()


@prepared_once
def columns_by_map(by: MapParameter) -> tuple[ColumnName, ...]:
    """Return the names that COLMAP gives columns of the source at the target, and those that are absent there.

    A column of the source that is mapped twice has the name of the first. One whose name another column or value gets
    at the target is absent.
    """
    if by.colmap is None:
        return ()
    names: dict[str, str] = {}
    for target, source in _mapped_columns(by):
        names.setdefault(source, target)
    named = tuple(_called(source, target) for source, target in names.items())
    if not by.colmap.use_defaults:
        return (*named, _absent("*"))
    replaced = [_exactly(target) for target in by.colmap.columns if target not in names]
    return (*named, *((_absent(*replaced),) if replaced else ()))


@prepared_once
def target_table_by_map(by: MapParameter) -> OwnColumns | None:
    """Return the key, the computed columns and the history that MAP gives a table at the target; None: none of these.

    Raises ValueError where KEYCOLS names what is no column of the source, or where there can be no such table.
    """
    columns = by.colmap.columns if by.colmap is not None else {}
    renamed = {(source, target) for source, target in ((p.columns[0], p.name) for p in columns_by_map(by))}
    extra = {
        target: text
        for target, text in columns.items()
        if not (isinstance(part := expression(text), Named) and (_exactly(part.name), target) in renamed)
    }
    if by.insert_all_records:
        there = set(extra.values())
        extra |= {name: text for name, text in HISTORY.items() if text not in there}
    key = () if by.insert_all_records else tuple(_source_column(by, name) for name in by.keycols)
    if not extra and not key:
        return None
    return TargetTable.model_validate({"extra": extra, "key": key, "time_key": by.insert_all_records}).own


@prepared_once
def conflicts_by_map(by: MapParameter) -> ConflictAnswers | None:
    """Return the answers to conflicts that MAP gives; None: none.

    Raises ValueError where they name what is no column of the source.
    """
    if by.conflicts is None:
        return None
    return by.conflicts.answers.renamed(lambda name: _source_column(by, name, "RESOLVECONFLICT"))


def needs_old_rows(by: RowOptions) -> bool:
    """Must the log have whole old rows of the tables, for what TABLE or MAP says of them?"""
    has_own_key = isinstance(by, MapParameter) and bool(by.keycols or by.insert_all_records or by.conflicts)
    return bool(by.condition or by.ignore) or has_own_key


def require_no_hidden(entries: Sequence[TableParameter | MapParameter]) -> None:
    """Raise ValueError for a TABLE or MAP whose options never count, because an earlier one lists its tables."""
    for number, first in hidden(entries):
        raise ValueError(
            f"{entries[number].label}: {entries[first].label} before it lists its tables with other options, and the"
            " first decides about rows: write one entry for them"
        )


def require_no_option_twice(
    extract: ExtractParameters | None,
    replicats: Mapping[str, ReplicatParameters | None],
    sections: Mapping[str, Sequence[Property]],
) -> None:
    """Raise ValueError where the parameters of an Extract or a Replicat say what a section of the file says, too.

    replicats: of each target or replay, by name. sections: the settings of tables, by the section's name.
    """
    tables = extract.tables if extract else ()
    require_no_hidden(tables)
    for place, replicat in replicats.items():
        maps = replicat.maps if replicat else ()
        require_no_hidden(maps)
        require_known_columns(tables, maps)
        every: list[TableParameter | MapParameter] = [*tables, *maps]
        says: dict[str, list[TableParameter | MapParameter]] = {
            "restrict": [one for one in every if one.condition or one.ignore],
            "column_properties": [
                *(one for one in tables if columns_by_table(one)),
                *(one for one in maps if columns_by_map(one)),
            ],
            "target_tables": [one for one in maps if target_table_by_map(one)],
            "conflicts": [one for one in maps if conflicts_by_map(one)],
        }
        for key, found in says.items():
            for number, one in enumerate(sections[key]):
                if found and (not one.targets or place in one.targets):
                    raise ValueError(
                        f"{key}[{number}] is for target {place}, and so are options of {found[0].label}: say it in"
                        " one place, as an option of TABLE or MAP"
                    )


def require_known_columns(tables: Iterable[TableParameter], maps: Iterable[MapParameter]) -> None:
    """Raise ValueError where COLMAP maps a column that COLS or COLSEXCEPT of the same table leaves out."""
    limited = [one for one in tables if one.cols or one.cols_except]
    for by in maps if limited else ():
        for table in limited:
            if not tables_intersect(schema_and_name(by.source), schema_and_name(table.table)):
                continue
            for _, source in _mapped_columns(by):
                if source in table.cols_except or (table.cols and source not in table.cols):
                    raise ValueError(
                        f"MAP {by.source}: COLMAP maps column {source}, which TABLE {table.table} leaves out:"
                        " take it out of COLMAP, or into COLS"
                    )


def _mapped_columns(by: MapParameter) -> Iterator[tuple[str, str]]:
    """Yield the columns at the target that have the values of one of the source, each with that one."""
    for target, text in by.colmap.columns.items() if by.colmap is not None else ():
        part = expression(text)
        if isinstance(part, Named):
            yield target, part.name


def _source_column(by: MapParameter, name: str, option: str = "KEYCOLS") -> str:
    mapped = dict(_mapped_columns(by))
    if name in mapped:
        return mapped[name]
    if by.colmap is not None and (name in by.colmap.columns or not by.colmap.use_defaults):
        why = "computes" if name in by.colmap.columns else "does not map"
        raise ValueError(f"MAP {by.source}: {option} names column {name}, which COLMAP {why}: it takes source columns")
    return name


def _exactly(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _called(source: str, target: str) -> ColumnName:
    return ColumnProperty(columns=(_exactly(source),), name=target).called


def _absent(*patterns: str) -> ColumnName:
    return ColumnProperty(columns=patterns, absent=True).called
