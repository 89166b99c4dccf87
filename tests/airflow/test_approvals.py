"""What a person reads before an approval is Markdown, and nothing of the source's can break out of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt

from airflow_ddlrepl.flow.admin.controls import HeldChange, HeldControl
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.operators.messages import approvals
from airflow_ddlrepl.operators.messages.approvals import MOST_TABLES, controls_text, rewind_text
from airflow_ddlrepl.operators.messages.markdown import block, code, link, plain, table
from airflow_ddlrepl.repository.stored.rows import ControlRow

NASTY = "a`b|c``d\n# <img src=x> [x](http://other) **b** ~~~ ```\n| q |"
"""As a table may be called, or a statement may say."""

ONE_LINE = " ".join(NASTY.split())


def shown(text: str) -> list[tuple[str, str]]:
    """The elements that a reader sees: (tag, text), of code and text alone."""
    found = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        for part in [token, *(token.children or ())]:
            if part.type not in ("inline",) and (part.content or part.nesting == 1):
                found.append((part.tag or part.type, part.content))
    return found


def links(text: str) -> list[str]:
    tokens = [part for token in MarkdownIt().parse(text) for part in token.children or ()]
    return [str(part.attrs["href"]) for part in tokens if part.type == "link_open"]


def plan(**changed: Any) -> dict[str, Any]:
    one = {
        "table": "public.orders", "verdict": "safe (keep)", "reason": "", "rows": 1200, "loaded_at": "0/A0",
        "changes": ["0/B0 ALTER TABLE orders ADD price int"],
    }  # fmt: skip
    return {
        "target": "past", "from": "0/A0", "to": "0/C0", "tables": [one], "segments": 3, "bytes": 4000,
        "removed": ["public.orders"], "stopped": "", "live": "", **changed,
    }  # fmt: skip


def test_a_rewind_is_tables_statements_and_what_will_be_lost() -> None:
    text = rewind_text("shop", plan(), "manual__1")
    assert "| `public.orders` | safe (keep) | 1,200 at `0/A0` | 1 |" in text
    assert "`public.orders` at `0/B0`:\n\n```sql\nALTER TABLE orders ADD price int\n```" in text
    assert "**Removed first at** `past`: `public.orders`" in text
    assert "(/dags/ddlrepl__shop__rewind/runs/manual__1/tasks/plan)" in text
    tags = [tag for tag, _ in shown(text)]
    assert (tags.count("table"), tags.count("strong")) == (2, 1)


def test_a_live_rewind_names_the_tables_that_are_replaced() -> None:
    text = rewind_text("shop", plan(live="warehouse", removed=[], stopped="at 0/B0, before a change"), "manual__1")
    assert "**Replaced at target** `warehouse`, with what somebody else wrote there: `public.orders`" in text
    assert "Nothing has to be removed at `past`." in text
    assert "**The rewind stops** at 0/B0, before a change" in text


def test_a_table_whose_rows_are_not_known_is_told_with_the_reason() -> None:
    (one,) = plan()["tables"]
    text = rewind_text("shop", plan(tables=[{**one, "verdict": "unsafe", "reason": "not kept", "rows": None}]), "1")
    assert "| `public.orders` | **unsafe** | none | 1 |" in text and "`public.orders`: **not kept**" in text


def test_long_plans_are_cut_and_say_so() -> None:
    (one,) = plan()["tables"]
    tables = [{**one, "table": f"public.t{i}"} for i in range(MOST_TABLES + 7)]
    text = rewind_text("shop", plan(tables=tables, removed=[one["table"] for one in tables]), "1")
    assert text.count("… and 7 more") == 1 and text.count(" and 7 more") == 2
    assert text.count("```sql") == approvals.MOST_STATEMENTS


def held(reason: str, table: str, statement: str) -> HeldControl:
    row = ControlRow(1, "warehouse", LogKey(0x100, 0), reason, "OnEnrollBreak", datetime(2026, 1, 1, tzinfo=UTC), None)
    return HeldControl(row, (HeldChange(table, 4, (f"drop_column {table}",), statement),))


def test_names_and_statements_of_a_source_do_not_leave_their_place() -> None:
    """Neither a link, an image, a heading, a fence nor another row of the table comes of them."""
    (one,) = plan()["tables"]
    nasty = {**one, "table": NASTY, "reason": NASTY, "changes": [f"0/B0 {NASTY}"]}
    for text in (
        rewind_text("shop", plan(tables=[nasty], removed=[NASTY], live=NASTY, target=NASTY, stopped=NASTY), NASTY),
        controls_text("shop", [held(NASTY, NASTY, NASTY)]),
    ):
        tags = [tag for tag, _ in shown(text)]
        assert {"img", "h1", "html_block", "html_inline", "s"} & set(tags) == set()
        assert tags.count("h3") == 3 and tags.count("a") <= 2
        assert all(address.startswith("/dags/ddlrepl__shop__") for address in links(text))
        assert ("code", NASTY + "\n") in shown(text)


@pytest.mark.parametrize(
    "text", ["a", "a`b", "`a", "a`", "``", "a|b", "1. a", "- a", "+ a", "=", "www.a.b", "http://a.b", NASTY]
)
def test_code_and_plain_show_the_text_as_it_is(text: str) -> None:
    line = " ".join(text.split())
    cell = table(("head",), [(code(text),)])
    assert ("code", line) in [(tag, content) for tag, content in shown(cell) if tag == "code"]
    words = "".join(content for tag, content in shown(plain(text)) if content)
    assert words == line
    assert ("code", text + "\n") in shown(block(text))


def test_links_go_below_the_path_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://host/airflow/")
    assert link("a [b]", "dags", "a/b") == "[a \\[b\\]](/airflow/dags/a%2Fb)"
    monkeypatch.delenv("AIRFLOW__API__BASE_URL")
    assert link("a", "dags") == "[a](/dags)"
