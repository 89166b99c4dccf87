"""Real servers for the tests: one PostgreSQL 18 and one 15 for the session, two fresh databases per test."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property

import pytest
from hypothesis import settings

from airflow_ddlrepl.demo.servers import PrivateServer
from tests import long_tests, thorough_parts
from tests.support import memory
from tests.support.lakes.warm_spark import warm_runner

TEMPORARY = "PYTEST_DEBUG_TEMPROOT"
"""Where pytest makes `tmp_path`: in memory a folder of this run's own, which goes with it."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "req(*ids): requirement IDs that this test shows")
    if (folder := memory.folder()) is not None:
        PrivateServer.parent = folder
        if TEMPORARY not in os.environ:  # not a worker
            os.environ[TEMPORARY] = place = tempfile.mkdtemp(prefix="ddlrepl-tests-", dir=folder)
            config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))


class Databases:
    """Two fresh databases on one server, each created when it is first asked for, and that server."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self._made: list[str] = []

    @cached_property
    def source(self) -> str:
        return self._create("source")

    @cached_property
    def target(self) -> str:
        return self._create("target")

    def _create(self, side: str) -> str:
        name = f"{side}_{secrets.token_hex(4)}"
        self._made.append(name)
        return self.server.create_database(name)

    def drop(self) -> None:
        """Slots first, then the databases."""
        for name in self._made:
            self.server.drop_database(name)


gc.disable()  # until everything is collected
settings.register_profile("tests", deadline=None)  # no test asserts a time: a machine may be busy
settings.register_profile("quick", parent=settings.get_profile("tests"), max_examples=5)  # `make unit`
settings.load_profile("tests")
SERVERS = {"private_server", "pg18", "pg15", "databases", "spark", "lake_spark", "runner", "airflow_database"}
"""A test that has one of these fixtures, if only through another one, starts a server: it is marked `server`."""


THOROUGH = (
    "tests/airflow/streams/test_five_clients_dag.py",
    "tests/airflow/test_airflow_connections.py",
    "tests/airflow/test_airflow_secrets.py",
    "tests/airflow/test_assets.py",
    "tests/airflow/page/live/",
    "tests/airflow/pages/",
    "tests/airflow/test_forked.py",
    "tests/airflow/test_local_app.py",
    "tests/airflow/test_new_target.py",
    "tests/airflow/test_provider.py::test_airflow_offers_the_commands_of_ddlrepl",
    "tests/airflow/test_readme.py",
    "tests/airflow/test_standalone.py",
    "tests/airflow/test_ui.py",
    "tests/airflow/turns/",
    "tests/airflow/logs/test_task_log.py::test_the_hint_of_a_failure",
    "tests/chaos/",
    "tests/conformance/test_killed.py",
    "tests/conformance/test_suspended.py",
    "tests/demo/",
    "tests/docs/test_first_steps.py",
    "tests/docs/test_site.py",
    "tests/flow/targets/test_three_targets.py",
    "tests/flow/apply/shapes/test_refusing_servers.py::test_a_hot_standby",
    "tests/flow/both_directions/test_random_writers.py",
    "tests/flow/mapping/test_target_table_histories.py",
    "tests/flow/refresh/test_random_types.py",
    "tests/flow/streams/test_sync_capture_order.py",
    "tests/flow/restore/test_lost_slots.py",
    "tests/flow/restore/test_put_back.py",
    "tests/flow/restore/test_source_put_back.py",
    "tests/flow/restore/test_target_put_back.py",
    "tests/flow/restore/test_upgraded_from_15.py",
    "tests/flow/restore/test_upgraded_server.py",
    "tests/flow/sizes/test_oversized_elsewhere.py",
    "tests/flow/sizes/test_oversized_in_queues.py",
    "tests/flow/sizes/test_oversized_rows.py",
    "tests/flow/upgrades/",
    "tests/histories/",
    "tests/security/test_secrets.py",
    "tests/security/triggers/test_session_triggers_switched_off.py",
    "tests/security/triggers/test_triggers_switched_off.py",
    "tests/spark/test_cluster.py",
    "tests/spark/test_connect_server.py",
    "tests/spark/test_dying_half_way.py",
    "tests/spark/test_lake_on_cluster.py",
    "tests/spark/test_runner.py",
    "tests/spark/test_transform_worker.py",
    "tests/spark/test_worker.py",
    "tests/spark/test_workers_python.py",
)
"""These tests take minutes, and say of the whole what others say of its parts: they are marked `thorough`.

So is every case but the first of a test that needs a server; each story is a test of its own.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that start a server, and the thorough ones, before `-m` chooses; leave the other parts out."""
    mark(items)
    try:
        is_chosen = thorough_parts.chosen(os.environ)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    other = [item for item in items if item.get_closest_marker("thorough") and not is_chosen(item.nodeid)]
    if other:
        config.hook.pytest_deselected(items=other)
        left_out = set(other)
        items[:] = [item for item in items if item not in left_out]


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests that start a server; as thorough the long ones of these, and all cases but the first.

    Long tests without a server are marked as long.
    """
    long = long_tests.names()
    versions: dict[object, set[object]] = {}
    seen: set[object] = set()
    for item in items:
        versions.setdefault(getattr(item, "function", None), set()).add(version(item))
    for item in items:
        function = getattr(item, "function", None)
        is_other = (version(item) == 15 and 18 in versions[function]) or item.nodeid.startswith(THOROUGH)
        if SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")
            is_other = is_other or function in seen or long_tests.function(item.nodeid) in long
            if not item.nodeid.startswith("tests/stories/") and not is_other:
                seen.add(function)
        elif long_tests.function(item.nodeid) in long:
            item.add_marker("long")
        if is_other:
            item.add_marker("thorough")


def version(item: pytest.Item) -> object:
    """Return the version of PostgreSQL that a test is parametrised with, if it is."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return params.get("databases", params.get("version"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A server that the fixtures of a test don't tell of can't be started in it."""
    starts = start if item.get_closest_marker("server") else refuse_to_start
    PrivateServer.start = starts  # type: ignore[assignment, method-assign]


start = PrivateServer.start


def refuse_to_start(_: PrivateServer) -> None:
    """Stand in for PrivateServer.start in tests without a server."""
    pytest.fail("a test that starts a server has the fixture private_server, pg18, pg15 or databases")


@pytest.fixture(scope="session")
def private_server() -> type[PrivateServer]:
    """The class of servers of a test's own, and of a test that starts them in another process."""
    return PrivateServer


@pytest.fixture(scope="session")
def spark() -> None:
    """Says of a test that it starts a Spark, which takes seconds."""


@pytest.fixture(scope="session")
def lake_spark() -> None:
    """A Spark that writes lakes, for the product in this process; it starts when a lake is written."""
    warm_runner()


@pytest.fixture(scope="session")
def pg18() -> Iterator[PrivateServer]:
    with PrivateServer("source", 18) as server:
        yield server


@pytest.fixture(scope="session")
def pg15() -> Iterator[PrivateServer]:
    with PrivateServer("source", 15) as server:
        yield server


@pytest.fixture
def databases(request: pytest.FixtureRequest) -> Iterator[Databases]:
    """Fresh source and target on PostgreSQL 18; `@pytest.mark.parametrize("databases", [18, 15], indirect=True)`."""
    server: PrivateServer = request.getfixturevalue(f"pg{getattr(request, 'param', 18)}")
    made = Databases(server)
    yield made
    made.drop()


def pytest_collection_finish() -> None:
    """What is imported and collected stays to the end: the garbage collector need not go through it again and again."""
    gc.freeze()
    gc.enable()
