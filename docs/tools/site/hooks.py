"""MkDocs calls these functions: they add the generated pages to the site, and links to what pages name."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from airflow_ddlrepl.config.file.json_schema import json_schema  # noqa: E402
from docs.tools.site import airflow_pages, api_page, commands_page, errors_page, front_page  # noqa: E402


def generated() -> dict[str, str]:
    """Return the files of the site that are in no folder of the documentation, by their places."""
    tops = {
        place: front_page.moved((ROOT / file).read_text(encoding="utf-8")) for file, place in front_page.MOVED.items()
    }
    return tops | {
        "schema/channel.json": json.dumps(json_schema(), indent=2),
        "schema/openapi.json": api_page.openapi(),
        "reference/api.md": api_page.page(),
        "reference/commands.md": commands_page.page(),
        "reference/messages.md": errors_page.page(),
        "reference/dags.md": airflow_pages.dags(),
        "reference/operators.md": airflow_pages.operators(),
        "reference/options.md": airflow_pages.options(),
    }


def on_files(files: Files, config: Any) -> Files:
    """Add the generated files."""
    for place, content in generated().items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with links to the pages that it names, and code in tables as GitHub shows it."""
    return front_page.bars_in_code(front_page.linked(markdown, page.file.src_uri))
