"""A page of Airflow for each channel: /ddlrepl/channel?channel=shop (entry point `airflow.plugins`).

Every Airflow process loads plugins: nothing but Airflow's base class is imported here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from importlib.resources import files
from typing import Any

from airflow.plugins_manager import AirflowPlugin

Message = MutableMapping[str, Any]


class ChannelPage:
    """Sends one page, the same for everybody; its script asks Airflow's API, with the reader's rights."""

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
        ]
        await send({"type": "http.response.start", "status": 200 if is_there else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})


class DdlReplPlugin(AirflowPlugin):
    """What Airflow loads."""

    name = "ddlrepl"
    fastapi_apps = [{"app": ChannelPage(), "url_prefix": "/ddlrepl", "name": "ddlrepl"}]
