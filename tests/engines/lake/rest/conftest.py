"""All tests of a process share one REST server, which has no table when a test begins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.lakes.rest import Rest, rest_server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    with rest_server(tmp_path_factory.mktemp("rest")) as found:
        yield found


@pytest.fixture
def rest(server: Rest) -> Rest:
    """The server, which has no table."""
    server.clear()
    return server
