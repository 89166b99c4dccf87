"""Table states are the channel's tables at a target, found by name and by type without a look at each of thousands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.types import TypeDefinition

THERE = (TableStatus.LIVE, TableStatus.PENDING, TableStatus.SUSPENDED)


class TableStates(dict[int, TableState]):
    """Table states are a mapping by table id that also knows which tables have a name, and which use a type.

    What it finds comes in the mapping's own order. It looks through the tables when it is asked for the first time.
    """

    _finds: _Index | None = None

    @classmethod
    def of(cls, states: Mapping[int, TableState]) -> TableStates:
        """Return these table states as they are, or with what finds them."""
        return states if isinstance(states, cls) else cls(states)

    def __setitem__(self, table_id: int, table_state: TableState) -> None:
        """Store the state of a table; one that is there keeps its place in the order."""
        if self._finds is not None:
            self._finds.put(table_id, self.get(table_id), table_state)
        super().__setitem__(table_id, table_state)

    def __delitem__(self, table_id: int) -> None:
        """Remove the state of a table; raise KeyError where there is none."""
        self.pop(table_id)

    def pop(self, table_id: int, *default: Any) -> Any:
        """Remove the state of a table and return it."""
        if self._finds is not None and table_id in self:
            self._finds.remove(table_id, self[table_id])
        return super().pop(table_id, *default)

    def called(self, name: TableName) -> list[TableState]:
        """Return the tables of a name."""
        return self._in_order(self._index.by_name.get(name, ()))

    def with_other(self, types: Iterable[TypeDefinition]) -> list[TableState]:
        """Return the tables that use one of these types in another definition."""
        found: set[int] = set()
        for now in types:
            for known, users in self._index.by_type.get(now.id, {}).items():
                found |= users if known != now else set()
        return self._in_order(found)

    def types_of_others(self, table_id: int, types: Container[int]) -> tuple[TypeDefinition, ...]:
        """Return the definitions of these types (by id) that other tables have at the target, each once."""
        found: list[tuple[int, TypeDefinition]] = []
        for type_id, definitions in self._index.by_type.items():
            for known, users in definitions.items() if type_id in types else ():
                others = (self._index.place[i] for i in users if i != table_id and self[i].state in THERE)
                if (first := min(others, default=None)) is not None:
                    found.append((first, known))
        return tuple(known for _, known in sorted(found, key=lambda one: one[0]))

    def _in_order(self, table_ids: Iterable[int]) -> list[TableState]:
        return [self[table_id] for table_id in sorted(table_ids, key=self._index.place.__getitem__)]

    @property
    def _index(self) -> _Index:
        if self._finds is None:
            self._finds = _Index()
            for table_id, table_state in self.items():
                self._finds.put(table_id, None, table_state)
        return self._finds


class _Index:
    """An index has the ids of tables by name, and by the definition of a type; place: the order of the tables."""

    def __init__(self) -> None:
        self.by_name: defaultdict[TableName, set[int]] = defaultdict(set)
        self.by_type: defaultdict[int, dict[TypeDefinition, set[int]]] = defaultdict(dict)
        self.place: dict[int, int] = {}
        self._next = 0

    def put(self, table_id: int, known: TableState | None, now: TableState) -> None:
        """Add a table, or what it is from now on; known: what it was, None: it is new."""
        if known is not None:
            self._forget(table_id, known)
        else:
            self.place[table_id] = self._next
            self._next += 1
        self.by_name[now.name].add(table_id)
        for of in now.shape.types:
            self.by_type[of.id].setdefault(of, set()).add(table_id)

    def remove(self, table_id: int, known: TableState) -> None:
        """Remove a table; known: what it was."""
        self._forget(table_id, known)
        del self.place[table_id]

    def _forget(self, table_id: int, known: TableState) -> None:
        self.by_name[known.name].discard(table_id)
        for of in known.shape.types:
            users = self.by_type[of.id][of]
            users.discard(table_id)
            if not users:
                del self.by_type[of.id][of]


def types_elsewhere(
    before: TableState | None, new: Table | None, table_states: Mapping[int, TableState]
) -> tuple[TypeDefinition, ...]:
    """Return the table's user-defined types, before and after its change, as other tables have them at the target."""
    shapes = [*([before.shape] if before else []), *([new] if new else [])]
    type_ids = {of.id for shape in shapes for of in shape.types}
    table_id = new.id if new else before.table_id if before else 0
    return TableStates.of(table_states).types_of_others(table_id, type_ids) if type_ids else ()
