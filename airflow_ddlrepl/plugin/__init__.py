"""Airflow loads this plugin from this package: it adds a page for each channel, a timetable, and a preload.

The page is /ddlrepl/channel?channel=shop. Every Airflow process loads plugins, so little is imported here, except in
those that tasks are forked from (`[ddlrepl] preload`).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.preload import preload_where_tasks_fork
from airflow_ddlrepl.timetables import BackfillTimetable

Message = MutableMapping[str, Any]


class ChannelPage:
    """This web app sends one page, the same to everybody; its script asks Airflow's API, with the reader's rights."""

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            return
        is_there = str(scope["path"]).rstrip("/").endswith("/channel")
        body = (files(__name__) / "channel.html").read_bytes() if is_there else b"no such page"
        headers = [
            (b"content-type", b"text/html; charset=utf-8" if is_there else b"text/plain"),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", content_policy(body)),
        ]
        await send({"type": "http.response.start", "status": 200 if is_there else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})


def content_policy(page: bytes) -> bytes:
    """Return a Content-Security-Policy: the page runs its own script alone, and asks nobody but this Airflow."""
    scripts = re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [b"'sha256-" + base64.b64encode(hashlib.sha256(one).digest()) + b"'" for one in scripts]
    return b"; ".join(
        (
            b"default-src 'none'",
            b"script-src " + (b" ".join(hashes) or b"'none'"),
            b"style-src 'unsafe-inline'",
            b"connect-src 'self'",
            b"base-uri 'none'",
            b"form-action 'none'",
            b"frame-ancestors 'self'",
        )
    )


class DdlReplPlugin(AirflowPlugin):
    """This class is the package's entry point `airflow.plugins`."""

    name = "ddlrepl"
    fastapi_apps = [{"app": ChannelPage(), "url_prefix": "/ddlrepl", "name": "ddlrepl"}]
    timetables: ClassVar[list[Any]] = [BackfillTimetable]

    @classmethod
    def on_load(cls, *args: Any, **kwargs: Any) -> None:
        """Preload our modules where tasks are forked from this process.

        Airflow calls it once in each process that loads plugins; in the scheduler before it forks anything.
        """
        if option("preload").lower() != "false":
            preload_where_tasks_fork()
