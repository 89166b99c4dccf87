"""The web app has the pages on replication and their API, all of it to be read with Airflow's rights."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from airflow_ddlrepl import __version__
from airflow_ddlrepl.plugin import api, pages

DESCRIPTION = (
    "What Airflow shows under Replication: each channel's state as its last run has left it in the repository. Neither"
    " source nor targets are asked. A channel is there for those who may read its DAG `ddlrepl__<channel>__replicate`."
)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def web_app() -> FastAPI:
    """Return the app that Airflow's API server mounts at /ddlrepl; it answers GET alone, so nothing can be forged."""
    app = FastAPI(
        title="Replication",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,  # their scripts come from elsewhere
        redoc_url=None,
    )
    app.include_router(api.router, prefix="/api")
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(str(files("airflow_ddlrepl.plugin") / "static"))))
    app.middleware("http")(_with_headers)
    app.exception_handler(HTTPException)(_failed)
    return app


async def _with_headers(request: Request, go_on: Any) -> Response:
    answer: Response = await go_on(request)
    answer.headers.update(HEADERS)
    if not _path(request).startswith("/static/"):
        answer.headers["Cache-Control"] = "no-store"  # it depends on who asks, and on when
    return answer


async def _failed(request: Request, error: HTTPException) -> Response:
    """Answer an error: the API with JSON, a page with a page, and who is not logged in with Airflow's login."""
    path = _path(request)
    if path.startswith("/api/"):
        return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
    up = pages.up_from(path)
    if error.status_code == 401:
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{up}../api/v2/auth/login?next={quote(address, safe='')}", 302)
    return pages.error_page(up, error.status_code, str(error.detail))


def _path(request: Request) -> str:
    """Return the path below the place where the app is mounted."""
    whole, root = str(request.scope["path"]), str(request.scope.get("root_path", ""))
    return whole.removeprefix(root) or "/"
