"""Additions by the recipes of CONTRIBUTING.md, each in a copy of the tree: they work there, and few files change."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutations.mutated_copy import MutatedCopy
from tests.mutations.mutation import Mutation

ROOT = Path(__file__).parents[2]
MOST_FILES = 6


@dataclass(frozen=True)
class Addition:
    """edits: texts of a file, each found there once, with what replaces it. proof: a program that uses the addition."""

    edits: dict[str, tuple[tuple[str, str], ...]]
    proof: str


UNCHANGED = Addition(
    {
        "airflow_ddlrepl/model/settings/row_kind.py": (
            ('    TRUNCATE = "TRUNCATE"\n', '    TRUNCATE = "TRUNCATE"\n    UNCHANGED = "UNCHANGED"\n'),
        ),
        "airflow_ddlrepl/integrate/steps/ignored_kinds.py": (
            (
                "    left_out = {kind: int((op == Op[kind]).sum()) for kind in kinds}\n",
                "    left_out = {kind: int(_is_of(changes, op, kind).sum()) for kind in kinds}\n",
            ),
            (
                "        changes = changes.filter(pa.array(~np.isin(op, [Op[kind] for kind in left_out])))\n",
                "        found = [_is_of(changes, op, kind) for kind in left_out]\n"
                "        changes = changes.filter(pa.array(~np.logical_or.reduce(found)))\n",
            ),
            (
                "    return changes, left_out\n",
                "    return changes, left_out\n\n\n"
                "def _is_of(changes, op, kind):\n"
                "    if kind is not RowKind.UNCHANGED:\n"
                "        return op == Op[kind]\n"
                "    same = (op == Op.UPDATE) & (changes['before'].to_numpy() == 2)\n"
                "    for name in (one for one in changes.column_names if one.startswith('a_')):\n"
                "        same &= [a == b for a, b in zip(changes[name], changes['b' + name[1:]], strict=True)]\n"
                "    return same\n",
            ),
        ),
    },
    """
import pyarrow as pa
from airflow_ddlrepl.config.sections.table_mapping import Restriction
from airflow_ddlrepl.integrate.steps.ignored_kinds import without_ignored
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.settings.stored import settings_from_text, settings_to_text
from airflow_ddlrepl.model.settings.table_settings import TableSettings

rows = Restriction.model_validate({"tables": "t", "ignore": ["unchanged", "DELETE"]}).rows
stored = settings_from_text(settings_to_text(TableSettings(rows=rows))).rows
op = pa.array([Op.INSERT, Op.UPDATE, Op.UPDATE, Op.DELETE], pa.int8())
changes = pa.table({"op": op, "before": pa.array([0, 2, 2, 2], pa.int8()),
                    "a_id": [1, 2, 3, None], "b_id": [None, 2, 2, 4]})
left, counts = without_ignored(changes, stored.ignore)
print(left["a_id"].to_pylist(), {str(kind): count for kind, count in counts.items()})
""",
)
"""A kind of changes that `ignore` of `restrict` may leave out: UPDATEs that change nothing."""

COUNTS_ROWS = Addition(
    {
        "airflow_ddlrepl/engines/abilities/of_target.py": (
            (
                "class RepairsRows(Ability, ABC):\n",
                "class CountsRows(Ability, ABC):\n"
                "    lack = Lack('counts no rows', 'count them yourself')\n\n"
                "    @abstractmethod\n"
                "    def row_count(self, name): ...\n\n\n"
                "class RepairsRows(Ability, ABC):\n",
            ),
        ),
        "airflow_ddlrepl/flow/mapping/abilities.py": (
            (
                "OF_TARGETS: dict[type[Ability], Callable[[Channel], bool]] = {\n",
                "from airflow_ddlrepl.engines.abilities.of_target import CountsRows\n\n"
                "OF_TARGETS: dict[type[Ability], Callable[[Channel], bool]] = {\n"
                "    CountsRows: lambda channel: channel.limits.trail_bytes is not None,\n",
            ),
        ),
        "airflow_ddlrepl/engines/duckdb/target_port.py": (
            ("    CutsOver,\n    HasOwnColumns,", "    CountsRows,\n    CutsOver,\n    HasOwnColumns,"),
            ("class DuckTarget(Target, ", "class DuckTarget(Target, CountsRows, "),
            (
                "    def renderer(self)",
                "    def row_count(self, name):\n"
                "        with self.session() as connection:\n"
                "            return connection.execute(f'SELECT count(*) FROM {name}').fetchone()[0]\n\n"
                "    def renderer(self)",
            ),
        ),
    },
    """
import tempfile
from airflow_ddlrepl.engines.abilities.of_target import CountsRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget
from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.abilities import require_able
from tests.config.test_restrict import channel

with tempfile.TemporaryDirectory() as folder:
    target = DuckTarget(f"duckdb://{folder}/t.duckdb", "shop")
    with target.session() as connection:
        connection.execute("CREATE TABLE t AS FROM range(3)")
    counted = able(target, CountsRows).row_count("t")
asking, silent = channel(limits={"trail_bytes": "1GB"}).at("berlin"), channel().at("berlin")
postgres = object.__new__(PostgresTarget)
require_able(asking, [], target)
require_able(silent, [], postgres)
try:
    require_able(asking, [], postgres)
except Unsupported as error:
    print(counted, error.code, error.message)
""",
)
"""An ability that a DuckDB file has, PostgreSQL lacks, and a channel file may ask for."""


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (UNCHANGED, "[1, 3] {'UNCHANGED': 1, 'DELETE': 1}"),
        (COUNTS_ROWS, "3 ADP-195 target berlin is of a kind that counts no rows"),
    ],
    ids=["row-kind", "ability"],
)
def test_an_addition_needs_few_files(added: Addition, said: str) -> None:
    assert len(added.edits) <= MOST_FILES
    with MutatedCopy() as copy:
        for name, edits in added.edits.items():
            text = (copy.root / name).read_text(encoding="utf-8")
            for old, new in edits:
                text = Mutation("addition", name, old, new).applied(text)
            (copy.root / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", added.proof]
        found = subprocess.run(command, cwd=copy.root, capture_output=True, text=True, check=False)
    assert (found.stdout.strip(), found.returncode) == (said, 0), found.stderr


def test_recipes_name_files_that_are_there() -> None:
    words = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("`")[1::2]
    paths = [word for word in words if word.startswith(("airflow_ddlrepl/", "tests/"))]
    assert len(paths) > 10 and [path for path in paths if not (ROOT / path).exists()] == []
