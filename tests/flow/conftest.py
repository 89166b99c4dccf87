"""Channels that the tests of flow begin with, and a database that they go back into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Make, Replica, channel_file
from tests.support.small_roles import small_replica


@pytest.fixture
def past(databases: Any) -> Iterator[str]:
    """An empty database of its own, for a replay."""
    name = f"past_{databases.source.rpartition('/')[2]}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)


@pytest.fixture
def make(databases: Any, tmp_path: Path) -> Iterator[Make]:
    """An activated channel; keywords change the channel file; `before`: statements at the source before activation.

    It runs with the small roles that docs/postgresql.md makes; on version 15 with a superuser, as a first try does.
    """

    def made(*before: str, **more: Any) -> Replica:
        if databases.server.version == 18:
            replica: Replica = small_replica(databases, tmp_path, **more)
        else:
            file = channel_file(tmp_path, databases.source, databases.target, **more)
            replica = Replica(databases.source, databases.target, file)
        replica.at_source(*before)
        replica.activate()
        return replica

    yield made
