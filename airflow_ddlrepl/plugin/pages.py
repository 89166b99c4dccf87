"""The pages: all channels, one channel, one table. They are made at the server, from the same answers as the API's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from airflow_ddlrepl.operators.messages.markdown import dag_id
from airflow_ddlrepl.plugin.channel_page import channel_page
from airflow_ddlrepl.plugin.drawing import words
from airflow_ddlrepl.plugin.readable_channels import KIND, User, channel_of, is_paused, readable_channels
from airflow_ddlrepl.plugin.seen import one_channel, one_run, one_table, seen_channels
from airflow_ddlrepl.plugin.table_list import PageQuery
from airflow_ddlrepl.plugin.table_page import table_page
from airflow_ddlrepl.visible import visible

router = APIRouter()
HOME = ("Replication", "./")
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(str(files("airflow_ddlrepl.plugin") / "templates"))),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "shown": lambda text: visible(str(text)),
    "json": lambda value: json.dumps(value, ensure_ascii=False),
    "duration": words.duration,
    "size": words.size,
    "count": words.count,
    "ago": lambda text: words.ago(text, datetime.now(UTC)),
    "clock": words.clock,
}


@router.get("/")
def channels(user: User) -> HTMLResponse:
    """Show all channels that the user may see."""
    return page("channels.html", "./", title="Replication", trail=[HOME_HERE], channels=seen_channels(user))


@router.get("/channels/{channel}")
def channel(channel: str, user: User, query: Annotated[PageQuery, Query()]) -> HTMLResponse:
    """Show one channel. Raises HTTPException 404."""
    found = channel_page(one_channel(channel, user, query.hours), query)
    dag = dag_id(channel, KIND)
    found |= {"dag": dag, "is_paused": is_paused(dag)}
    return page("channel.html", "../", title=channel, trail=[HOME, (channel, "")], **found)


@router.get("/channels/{channel}/tables/{table_id}")
def table(channel: str, table_id: int, user: User) -> HTMLResponse:
    """Show one table of a channel: what has happened to it. Raises HTTPException 404."""
    found = table_page(one_channel(channel, user), one_table(channel, table_id, user))
    trail = [HOME, (channel, f"channels/{channel}"), (found["name"], "")]
    return page("table.html", "../../../", title=found["name"], trail=trail, **found)


@router.get("/channels/{channel}/runs/{run_id}")
def executed(channel: str, run_id: str, user: User) -> HTMLResponse:
    """Show the SQL that a run has executed at the targets. Raises HTTPException 404."""
    found, title = one_run(channel, run_id, user), f"Executed SQL of {run_id}"
    trail = [HOME, (channel, f"channels/{channel}"), (title, "")]
    return page("executed.html", "../../../", title=title, trail=trail, executed=found)


@router.get("/dags/{dag}")
def tab(dag: str, user: User) -> Any:
    """Show the channel of a DAG, on the tab that Airflow has on the page of every DAG."""
    name = channel_of(dag)
    if name and name in readable_channels(user):
        return RedirectResponse(f"../channels/{name}", 302)
    return page("no_channel.html", "../", title="No channel", trail=[HOME, ("No channel", "")])


HOME_HERE = (HOME[0], "")


def page(template: str, up: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page. up: the way from its address to the pages' root, since a reverse proxy may add to the front."""
    text = TEMPLATES.get_template(template).render(up=up, now=datetime.now(UTC), **values)
    return HTMLResponse(text, status)


def error_page(up: str, status: int, detail: str) -> HTMLResponse:
    """Return a page that says why there is none."""
    return page("error.html", up, status, title=f"{status}", trail=[HOME, (str(status), "")], detail=detail)


def up_from(path: str) -> str:
    """Return the way from a path below /ddlrepl back to /ddlrepl/."""
    return "../" * (path.count("/") - 1) or "./"
