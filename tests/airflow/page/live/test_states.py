"""Each channel's page tells the truth: healthy, waiting for a person, without its source, before its first run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.airflow.page.live.conftest import NASTY, World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("page")]


def told(world: World, channel: str) -> dict[str, Any]:
    answer = world.server.ask(f"/ddlrepl/api/channels/{channel}", "vic")
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


def test_a_healthy_channel_is_good(world: World) -> None:
    found = told(world, "shop")
    assert found["verdict"]["level"] == "good", found["verdict"]
    assert [one["verdict"]["level"] for one in found["targets"]] == ["good"]
    assert found["waiting"] == []
    assert {row["target"] for row in found["history"]} == {"warehouse"}
    assert len(found["history"]) >= 6


def test_a_control_waits_for_a_person_with_what_removes_it(world: World) -> None:
    found = told(world, "shop-hr")
    assert found["verdict"]["level"] == "waiting"
    one, discarded = (one for one in found["waiting"] if one["kind"] != "approval")
    assert (one["kind"], discarded["kind"]) == ("control", "discarded rows")
    assert one["remedy"]["dag"] == "ddlrepl__shop-hr__controls"
    assert "controls remove" in one["remedy"]["command"]


def test_a_source_that_is_down_is_told(world: World) -> None:
    found = told(world, "crm")
    assert found["verdict"]["level"] == "bad"
    assert "source" in found["verdict"]["sentence"]


def test_a_channel_that_never_ran_is_told(world: World) -> None:
    found = told(world, "new")
    assert found["verdict"]["level"] == "unknown"
    assert "CFG-412" in found["verdict"]["reason"]


def test_the_part_of_the_history_is_chosen(world: World) -> None:
    """30 days have one row for each hour; what was never asked for is refused."""
    cycles = told(world, "shop")["history"]
    hours = world.server.ask("/ddlrepl/api/channels/shop?hours=720", "vic").json["history"]
    assert 1 <= len(hours) < len(cycles) and all(one["is_hour"] for one in hours)
    assert sum(one["rows"] for one in hours) == sum(one["rows"] for one in cycles)
    page = world.server.ask("/ddlrepl/channels/shop?hours=720", "vic").body
    assert "Rows in an hour" in page and '<input type="hidden" name="hours" value="720">' in page
    assert world.server.ask("/ddlrepl/channels/shop?hours=9999", "vic").status == 422
    assert world.server.ask("/ddlrepl/channels/new?hours=720", "vic").status == 200


def test_a_list_of_tables_says_what_changed_when_and_what_waits(world: World) -> None:
    tables = world.server.ask("/ddlrepl/api/channels/shop/tables?q=orders", "vic").json["tables"]
    assert [bool(one["changed"]) for one in tables] == [True] and tables[0]["changes"] > 0
    assert (tables[0]["waiting_rows"], tables[0]["waiting_bytes"]) == (0, 0)
    held = world.server.ask("/ddlrepl/api/channels/shop-hr/tables?q=orders", "vic").json["tables"]
    assert held[0]["waiting_rows"] == 1
    page = world.server.ask("/ddlrepl/channels/shop-hr", "vic").body
    assert 'data-label="Waits" class="number">1 row, ' in page
    row = world.server.ask("/ddlrepl/channels/shop?q=orders", "vic").body
    assert f'data-label="Rows changed" class="number">{tables[0]["changes"]}<' in row and "ago</td>" in row


def test_rows_in_the_error_queue_are_listed_by_their_keys(world: World) -> None:
    (table,) = world.server.ask("/ddlrepl/api/channels/shop-hr/tables?q=codes", "vic").json["tables"]
    path = f"channels/shop-hr/tables/{table['table_id']}"
    found = world.server.ask(f"/ddlrepl/api/{path}", "vic").json["queued"]
    assert {one["key"][0]["value"] for one in found} == {"<script>pwned=1</script>", NASTY}
    assert {one["code"] for one in found} == {"INT-134"} and all(one["hint"] and one["at"] for one in found)
    for page in (f"/ddlrepl/{path}", "/ddlrepl/channels/shop-hr", f"/ddlrepl/api/{path}"):
        assert "private" not in world.server.ask(page, "vic").body
    page = world.server.ask(f"/ddlrepl/{path}", "vic").body
    assert "name = &lt;script&gt;pwned=1&lt;/script&gt; (row)" in page and "<script>pwned" not in page


def test_a_table_says_what_is_on_its_way(world: World) -> None:
    (table,) = world.server.ask("/ddlrepl/api/channels/shop-hr/tables?q=orders", "vic").json["tables"]
    path = f"channels/shop-hr/tables/{table['table_id']}"
    (change,) = world.server.ask(f"/ddlrepl/api/{path}", "vic").json["on_its_way"]
    assert change["statement"] == "ALTER TABLE orders DROP COLUMN note"
    page = world.server.ask(f"/ddlrepl/{path}", "vic").body
    assert "warehouse: column note is dropped" in page and "It waits until control 1 is removed" in page
    assert "Waits for it: 1 row, " in page
    plan = change["plan"]
    assert (plan["how"], plan["outdated"], plan["run"] != "") == ("control", "", True)
    assert "DROP COLUMN &#34;note&#34;" in page and "As planned " in page
    assert f"from {plan['from']} to {plan['to']}" in page
