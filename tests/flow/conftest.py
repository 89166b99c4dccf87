"""What tests of more than one module go back into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def past(databases: Any) -> Iterator[str]:
    """An empty database of its own, for a replay."""
    name = f"past_{databases.source.rpartition('/')[2]}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)
