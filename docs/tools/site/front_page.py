"""Make pages of the site from the files at the top of the repository, and links from what pages name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "LICENSE": "LICENSE.txt"}
"""Where the files at the top of the repository are in the site."""
SPELT = {
    "postgresql": "PostgreSQL",
    "goldengate": "GoldenGate",
    "hvr": "HVR",
    "airflow": "in Airflow",
    "streams": "Oracle Streams",
}
"""What a link to a page is called where its name is not a word."""
_LINK = re.compile(r"(\]\()((?:\.\./)*(?:docs/)?[^)#:]+)(#[^)]*)?(\))")
_NAMED = re.compile(r"(?<![\w/`\[.])(?<!\]\()(docs/[\w/]+\.md|README\.md|CHANGELOG\.md)(?![\w`\]])")
_FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")


def moved(text: str) -> str:
    """Return a page of the repository's top with links that are right in the site."""
    return _LINK.sub(lambda found: f"{found[1]}{place(found[2])}{found[3] or ''}{found[4]}", text)


def place(path: str) -> str:
    """Return where a file of the repository is in the site."""
    return MOVED.get(path, path.removeprefix("docs/"))


def linked(text: str, page: str) -> str:
    """Return a page with links for the other pages that it only names (docs/rewind.md). page: its own place."""
    return outside_code(text, lambda part: _NAMED.sub(lambda found: _link(found[1], page), part))


def _link(path: str, page: str) -> str:
    target = place(path)
    name = posixpath.basename(path).removesuffix(".md").replace("_", " ")
    name = posixpath.basename(posixpath.dirname(path)) if name == "README" and "/" in path else name
    name = SPELT.get(name, name)
    return f"[{name}]({posixpath.relpath(target, posixpath.dirname(page) or '.')})" if target != page else name


def bars_in_code(text: str) -> str:
    """Return a page whose tables have `|` in code as GitHub shows it: written `\\|`, it would keep the backslash."""
    lines = text.split("\n")
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), one) if one[:1] == "|" else one for one in lines
    )


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text with `change` applied to what is in no code: fenced, indented or between backticks."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_outside_spans(text[end : fence.start()], change), fence[0]]
        end = fence.end()
    return "".join([*parts, _outside_spans(text[end:], change)])


def _outside_spans(text: str, change: Callable[[str], str]) -> str:
    parts: list[str] = []
    end = 0
    for span in _CODE.finditer(text):
        parts += [change(text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, change(text[end:])])
