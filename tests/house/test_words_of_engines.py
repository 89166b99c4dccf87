"""The core has no engine's words, but where a file is listed with how many lines of it still have some."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2] / "airflow_ddlrepl"
CORE = ("model", "ports", "ddl", "notation", "config", "capture", "adapt", "integrate", "mapping", "trail", "flow")
# What these files say of one engine's sources and locations is that engine's section of the channel file.
SECTIONS_OF_ENGINES = frozenset(
    ["config/sections/location.py", "config/sections/places.py", "config/sections/policies.py"]
)
WORDS = re.compile(
    r"\b(oids?|typmods?|xids?|xmin|xmax|timelines?|replica.?identit(y|ies)|ReplicaIdentity|publications?|toast(ed)?"
    r"|pg_\w+|pgoutput|psycopg|adbc|libpq|search_path|send format|postgres\w*|duckdb|ducklake)\b|\b63\b",
    re.IGNORECASE,
)
LINES = {
    "config/file/key_effects.py": 2,
    "config/sections/channel.py": 3,
    "config/sections/table_mapping.py": 1,
    "model/names.py": 1,
    "model/stored_names.py": 3,
    "notation/column_types.py": 1,
}
"""So many lines of a file have such words: texts that are stored, and what is still to be moved. Take out what goes."""


def found() -> dict[str, int]:
    files = [file for folder in CORE for file in (ROOT / folder).rglob("*.py") if "__pycache__" not in file.parts]
    named = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8").splitlines() for file in files}
    counts = {name: sum(bool(WORDS.search(line)) for line in lines) for name, lines in named.items()}
    return {name: count for name, count in counts.items() if count and name not in SECTIONS_OF_ENGINES}


def test_the_core_has_no_engine_s_words() -> None:
    assert found() == LINES
