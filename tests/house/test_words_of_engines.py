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
    "adapt/plan/ddl_replay.py": 1,
    "adapt/shape/target_shape.py": 1,
    "capture/feed_changes.py": 2,
    "config/file/key_effects.py": 2,
    "config/file/reference_page.py": 3,
    "config/sections/channel.py": 3,
    "config/sections/ignored_sessions.py": 2,
    "config/sections/table_mapping.py": 1,
    "ddl/sql/statement.py": 1,
    "ddl/tables/change_replica_identity.py": 2,
    "flow/apply/ddl_replay.py": 2,
    "flow/capture/accept.py": 1,
    "flow/capture/left_out.py": 5,
    "flow/capture/log_continuity.py": 2,
    "flow/cutover/check.py": 2,
    "flow/cutover/missing_objects.py": 1,
    "flow/mapping/tables.py": 1,
    "flow/streams/apply_process/apply_rules.py": 2,
    "flow/streams/apply_process/error_queue.py": 1,
    "flow/streams/apply_process/handlers.py": 4,
    "model/change.py": 6,
    "model/names.py": 1,
    "model/stored.py": 1,
    "model/table.py": 6,
    "model/types.py": 1,
    "notation/column_types.py": 1,
    "trail/segments.py": 1,
}
"""So many lines of a file have such words: texts that are stored, and what is still to be moved. Take out what goes."""


def found() -> dict[str, int]:
    files = [file for folder in CORE for file in (ROOT / folder).rglob("*.py") if "__pycache__" not in file.parts]
    named = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8").splitlines() for file in files}
    counts = {name: sum(bool(WORDS.search(line)) for line in lines) for name, lines in named.items()}
    return {name: count for name, count in counts.items() if count and name not in SECTIONS_OF_ENGINES}


def test_the_core_has_no_engine_s_words() -> None:
    assert found() == LINES
