"""A rename can lead a table from one MAP of a Replicat to another: then no text runs that would rename it in place."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.goldengate.parameters.mapping import is_of_another_target, target_of
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState

RETURNED = "no MAP listed the table's former name, so the target lacks what was done to its rows meanwhile"


def why_returned(at: ChannelAt, before: TableState | None, old: Table | None, new: Table | None) -> str:
    """Return why a table has to be loaded that is still at the target, and gets a mapped name again; empty: it isn't.

    old, new: the source's table before and after the statement.
    """
    replicat = at.place.replicat
    if replicat is None or before is None or old is None or new is None or old.name == new.name:
        return ""
    is_back = target_of(old.name, replicat) is None and target_of(new.name, replicat) is not None
    return RETURNED if is_back else ""


def moves(at: ChannelAt, before: TableState | None, old: Table | None, new: Table | None) -> bool:
    """Does MAP give a table's new name another schema than the table has at the target?

    The source's text would leave it where it is, unless it names the schema itself.
    """
    replicat = at.place.replicat
    if replicat is None or before is None or old is None or new is None or old.name == new.name:
        return False
    wanted = target_of(new.name, replicat)
    if wanted is None or wanted.schema == before.name.schema:
        return False
    return old.name.schema == new.name.schema or wanted.schema != new.name.schema


def becomes_another(at: ChannelAt, old: Table, new: Table) -> bool:
    """Is a table's new name another TARGET's than the one of this target? Then its table there is a new one."""
    replicat = at.place.replicat
    return replicat is not None and old.name != new.name and is_of_another_target(old.name, new.name, replicat)
