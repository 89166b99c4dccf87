"""A channel that runs with the small roles of docs/postgresql.md: the page's own SQL makes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file, run

PAGE = Path(__file__).parents[2] / "docs" / "postgresql.md"


@dataclass
class SmallReplica(Replica):
    """source, target: the application's and the administrator's URLs. small: what the channel file has from then on."""

    small: str = ""

    def activate(
        self, enrollment: Any = "keep", start: str = "now", trail: Any = "keep", accept: Any = "nothing"
    ) -> Any:
        """As the page says: a superuser activates without loading, then the reading role takes over."""
        self._activate_as_superuser()
        return super().activate(enrollment, start, trail, accept)

    def begin(self) -> None:
        """The same, and the reading role loads what exists, as its first cycle would: it does not activate again."""
        self._activate_as_superuser()
        with flow.open_channel(self.file, InProcess()) as cycle:
            flow.refresh(cycle)

    def _activate_as_superuser(self) -> None:
        text = self.file.read_text()
        self.file.write_text(text.replace(self.small, self.source))
        with flow.open_channel(self.file, InProcess()) as cycle:
            flow.activate(cycle, load=False)
        self.file.write_text(text)


def small_replica(databases: Databases, folder: Path, **more: Any) -> SmallReplica:
    """The source is read by the reading role, the target is written by the loading role: neither is a superuser."""
    reader = made(databases.server, databases.source, "the reading role")
    loader = made(databases.server, databases.target, "the loading role")
    file = channel_file(folder, reader, loader, **more)
    return SmallReplica(databases.source, databases.target, file, small=reader)


def made(server: PrivateServer, dsn: str, title: str) -> str:
    """Runs what the page has under that title, for a role of this database's own; the role's URL."""
    database = urlsplit(dsn).path[1:]
    found = re.search(rf"<!-- {title} -->\n```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None, title
    named = re.search(r"CREATE ROLE (\w+)", found.group(1))
    assert named is not None
    role = f"{named.group(1)}_{database}"
    sql = re.sub(rf"\b{named.group(1)}\b", role, found.group(1)).replace("'choose one'", f"'{server.password}'")
    run(dsn, re.sub(r"DATABASE \w+", f"DATABASE {quote(database)}", sql))
    return server.dsn(database, role)
