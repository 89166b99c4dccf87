"""Who may read a channel's DAG sees the channel; nobody else sees a name or a statement, or that it exists."""

from __future__ import annotations

import sqlite3

import pytest

from tests.airflow.page.live.conftest import World
from tests.airflow.support.api_server import USERS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("page")]

STRANGER = "sam"
PATHS = ("/channels/shop", "/channels/shop/tables/{table}", "/api/channels/shop", "/api/channels/shop/tables",
         "/api/channels/shop/tables/{table}", "/channels/shop/runs/first",
         "/api/channels/shop/runs/first/sql")  # fmt: skip
MISSING = "There is no such channel, or you may not read its DAG in Airflow."


@pytest.fixture(scope="module")
def table(world: World) -> int:
    found = world.server.ask("/ddlrepl/api/channels/shop/tables?q=orders", "ann").json
    return int(found["tables"][0]["table_id"])


@pytest.mark.parametrize("user", [name for name in USERS if name != STRANGER])
def test_every_role_that_reads_dags_sees_the_channels(world: World, user: str, table: int) -> None:
    listed = world.server.ask("/ddlrepl/api/channels", user).json
    assert {one["channel"] for one in listed} == set(world.files)
    for path in PATHS:
        assert world.server.ask(f"/ddlrepl{path.format(table=table)}", user).status == 200


def test_who_may_not_read_a_dag_sees_nothing_of_its_channel(world: World, table: int) -> None:
    """Neither in a list nor by its address; a channel that is not there looks the same."""
    listed = [one["channel"] for one in world.server.ask("/ddlrepl/api/channels", STRANGER).json]
    assert sorted(listed) == ["crm", "hr", "new", "turn"]
    page = world.server.ask("/ddlrepl/", STRANGER)
    assert "shop" not in page.body and "orders" not in page.body
    for path in PATHS:
        hidden = world.server.ask(f"/ddlrepl{path.format(table=table)}", STRANGER)
        absent = world.server.ask(f"/ddlrepl{path.format(table=table)}".replace("shop", "nine"), STRANGER)
        assert hidden.status == absent.status == 404
        assert MISSING in hidden.body.replace("&#39;", "'")
        assert hidden.body.replace("shop", "nine") == absent.body
    tab = world.server.ask("/ddlrepl/dags/ddlrepl__shop__replicate", STRANGER)
    assert tab.status == 200 and "belongs to no replication channel" in tab.body and "orders" not in tab.body


def test_a_channel_whose_dag_is_gone_is_not_there(world: World) -> None:
    """Airflow keeps the DAG of a removed file, marked as stale."""

    def is_there() -> bool:
        return "turn" in {one["channel"] for one in world.server.ask("/ddlrepl/api/channels", "ann").json}

    def mark(stale: bool) -> None:
        with sqlite3.connect(world.home / "airflow.db") as airflow:
            airflow.execute("UPDATE dag SET is_stale = ? WHERE dag_id = 'ddlrepl__turn__replicate'", (stale,))

    assert is_there()
    mark(True)
    try:
        assert not is_there()
    finally:
        mark(False)


def test_who_is_not_logged_in_is_sent_to_airflow_s_login(world: World, table: int) -> None:
    for path in ("/api/channels", *(one for one in PATHS if one.startswith("/api"))):
        answer = world.server.ask(f"/ddlrepl{path.format(table=table)}")
        assert (answer.status, answer.json) == (401, {"detail": "Not authenticated"})
    for path in ("/", "/dags/ddlrepl__shop__plan", *(one for one in PATHS if not one.startswith("/api"))):
        answer = world.server.ask(f"/ddlrepl{path.format(table=table)}")
        assert (answer.status, answer.body) == (302, "")
        assert "/api/v2/auth/login?next=%2Fddlrepl" in {k.lower(): v for k, v in answer.headers.items()}["location"]


def test_a_forged_cookie_is_refused(world: World) -> None:
    forged = world.server.token("vic")[:-4] + "AAAA"
    world.server.tokens["forged"] = forged
    assert world.server.ask("/ddlrepl/api/channels", "forged").status in (401, 403)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_written(world: World, method: str) -> None:
    """So there is nothing that a page of somebody else could make a user's browser do."""
    for path in ("/", "/channels/shop", "/api/channels", "/api/channels/shop", "/dags/ddlrepl__shop__plan"):
        assert world.server.ask(f"/ddlrepl{path}", "ann", method).status == 405


def test_answers_are_kept_by_nobody_and_run_no_script_but_ours(world: World) -> None:
    for path in ("/ddlrepl/", "/ddlrepl/channels/shop", "/ddlrepl/channels/nine", "/ddlrepl/api/channels"):
        headers = {name.lower(): value for name, value in world.server.ask(path, "ann").headers.items()}
        policy = headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'self'"} <= set(policy)
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"


def test_no_password_is_on_any_page(world: World, table: int) -> None:
    password = world.databases.password
    for path in ("/", *PATHS, "/channels/crm", "/api/channels/crm", "/api/channels"):
        assert password not in world.server.ask(f"/ddlrepl{path.format(table=table)}", "ann").body


def test_the_api_is_described(world: World) -> None:
    found = world.server.ask("/ddlrepl/api/openapi.json", "vic").json
    assert set(found["paths"]) == {
        "/api/channels",
        "/api/channels/{channel}",
        "/api/channels/{channel}/tables",
        "/api/channels/{channel}/tables/{table_id}",
        "/api/channels/{channel}/runs/{run_id}/sql",
    }
    assert {method for path in found["paths"].values() for method in path} == {"get"}
    assert all("404" in one["get"]["responses"] for path, one in found["paths"].items())
