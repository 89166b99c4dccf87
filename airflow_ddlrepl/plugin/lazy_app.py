"""The web app is imported at its first request, since every Airflow process loads plugins and few serve pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any

Message = MutableMapping[str, Any]


class LazyApp:
    """This ASGI app passes each request on to the web app, which it makes when the first one comes."""

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        await _app()(scope, receive, send)


@cache
def _app() -> Any:
    from airflow_ddlrepl.plugin.app import web_app

    return web_app()
