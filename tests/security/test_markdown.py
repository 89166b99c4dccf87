"""Names, statements and values of a source are text on Airflow's pages: in tables, too, for any reader of Markdown."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.dags import replicate
from airflow_ddlrepl.operators.cutover import cutover_text
from airflow_ddlrepl.operators.messages.approvals import differences_text, plan_text, rewind_text
from airflow_ddlrepl.operators.messages.markdown import block, bold, code, plain, table
from airflow_ddlrepl.visible import visible

HOSTILE = (
    "a\\|b", "a\\\\|b", "\\|", "|", "\\", "`", "``", "a`|`b", "\\`|", "<img src=x onerror=alert(1)>", "&lt;", "<!-- ",
    "[x](javascript:alert(1))", "![x](http://h/i.png)", "[x]: http://h", "http://h/x", "www.h.org", "a@b.org",
    "\\|<img src=x>", "a\\|[x](http://h)|b", "***", "~~x~~", "# x", "- x", "1. x", "> x", "x\n\n<script>", "\r\n# x",
    "```\n<b>", "~~~", "$x$", "{{ x }}", "{% x %}", "x\\", "\u2028x", "\x00", "⁄", "::: x",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.sampled_from("a|\\`<>[]()!&*_~ \n#:x")), st.text(max_size=30))
READER = MarkdownIt("gfm-like", {"linkify": False})
ALLOWED = {
    "inline", "text", "code_inline", "table_open", "table_close", "thead_open", "thead_close", "tbody_open",
    "tbody_close", "tr_open", "tr_close", "td_open", "td_close", "th_open", "th_close", "paragraph_open",
    "paragraph_close", "strong_open", "strong_close", "text_special", "fence", "softbreak",
}  # fmt: skip


def cells(row: str) -> list[str]:
    """The cells of a row as Airflow's reader of Markdown splits it: a backslash takes a backslash or a pipe with it."""
    return re.findall(r"((?:\\[\\|]|[^|])*)\|", row.strip()[1:])


def kinds(text: str) -> set[str]:
    return {part.type for token in READER.parse(text) for part in [token, *(token.children or ())]}


@given(TEXTS, TEXTS)
@example("a\\|b", "<img src=x>")
def test_a_cell_stays_a_cell_and_is_no_markup(first: str, second: str) -> None:
    for one, other in product((code, plain, bold), repeat=2):
        text = table(("A", "B"), [(one(first), other(second))])
        *_, row = text.split("\n")
        assert len(cells(row)) == 2
        assert kinds(text) <= ALLOWED
        for cell in cells(row):
            assert {part.type for token in READER.parseInline(cell) for part in token.children or ()} <= ALLOWED


def test_an_address_is_code() -> None:
    """Airflow's reader makes links of addresses in plain text, whether their characters are escaped or not."""
    for address in ("http://h.org/x", "HTTPS://h", "www.h.org", "a@b.org", "x(http://h)"):
        assert plain(f"see {address} there") == f"see `{address}` there"


@given(TEXTS)
def test_what_is_shown_is_the_text(text: str) -> None:
    (inline,) = [token for token in READER.parse(code(text) or "x") if token.type == "inline"]
    found = "".join(part.content for part in inline.children or ())
    wanted = visible(" ".join(text.split()))
    assert found.replace("\\|", "|").replace(" ", "") == (wanted.replace("\\|", "|").replace(" ", "") or "x")


@given(TEXTS)
def test_a_block_is_one_block(text: str) -> None:
    assert [token.type for token in READER.parse(f"before\n\n{block(text, 'sql')}\n\nafter")] == [
        "paragraph_open", "inline", "paragraph_close", "fence", "paragraph_open", "inline", "paragraph_close",
    ]  # fmt: skip


@pytest.mark.parametrize("nasty", HOSTILE)
def test_no_page_that_asks_for_an_approval_has_markup_of_the_source(nasty: str) -> None:
    one = {
        "table": nasty,
        "verdict": nasty,
        "reason": nasty,
        "rows": 1,
        "loaded_at": nasty,
        "changes": [f"0/B0 {nasty}"],
    }
    rewind: dict[str, Any] = {"target": nasty, "from": nasty, "to": nasty, "tables": [one], "segments": 1, "bytes": 1}
    step = {"sql": [nasty], "why": nasty, "kind": nasty}
    planned = {
        "table": nasty, "target": nasty, "changes": [nasty], "policies": [nasty], "rows_to_move": 1,
        "needs_refresh": True, "hazards": [nasty], "steps": [step, {**step, "sql": []}],
    }  # fmt: skip
    late = {"table": nasty, "since": nasty, "why": nasty, "hint": nasty}
    unlike = {
        "table": nasty, "target": nasty, "is_partial": False, "missing": 1, "extra": 1, "different": 1,
        "structure": [nasty], "differences": 1, "waits": False,
    }  # fmt: skip
    condition = {"code": nasty, "target": nasty, "what": nasty, "found": [nasty], "is_met": False}
    pages = [
        rewind_text("shop", {**rewind, "removed": [nasty], "stopped": nasty, "live": nasty}, nasty),
        plan_text(
            "shop", {"from": nasty, "to": nasty, "targets": {nasty: [planned]}, "suspended": {nasty: [late]}}, nasty
        ),
        differences_text("shop", {"tables": [unlike], "found": [nasty], "left_out": [nasty]}, nasty),
        cutover_text("shop", {"conditions": [condition]}, [nasty], nasty),
    ]
    for page in pages:
        tokens = [part for token in READER.parse(page) for part in [token, *(token.children or ())]]
        assert not {one.type for one in tokens} & {"html_block", "html_inline", "image"}
        links = [str(one.attrs["href"]) for one in tokens if one.type == "link_open"]
        assert all(link.startswith("/dags/ddlrepl__shop__") for link in links)
        for line in page.split("\n"):
            heads = next((row for row in page.split("\n") if row.startswith("| Table") or row.startswith("| Code")), "")
            if line.startswith("| `") and heads:
                assert len(cells(line)) in {len(cells(row)) for row in page.split("\n") if row.startswith("| ---")}


def test_the_documentation_of_a_dag_is_text() -> None:
    source = r'source: {location: src, tables: ["a`|<b>.*", "\\|x.y"]}'
    channel = read_channel(f"channel: shop\n{source}\ntargets: [{{name: w, location: dst}}]\n")
    page = replicate._documentation(channel, Path("a`b|<img src=x>.yml"))
    assert not kinds(page) & {"html_block", "html_inline", "image"}
    assert "<img src=x>" in "".join(
        part.content for token in READER.parse(page) for part in token.children or () if part.type == "code_inline"
    )
