"""Starts processes of the fault tests and looks at what they leave behind."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_worker(store: Path, name: str, count: int) -> "subprocess.Popen[str]":
    """A process that adds memories and prints the acknowledged ids."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.faults.worker", str(store), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)


def loose_ends(store: Path) -> dict[str, int]:
    """What no crash may leave: entries without index row or vector, index rows without entry, wrong counts."""
    checks = {
        "memories without index row": """
            SELECT count(*) FROM memory m LEFT JOIN index_entry e
            ON e.scope_id = m.scope_id AND e.version = m.indexed AND e.entry = m.row WHERE e.entry IS NULL""",
        "memories without vector": """
            SELECT count(*) FROM memory m LEFT JOIN index_vector v
            ON v.scope_id = m.scope_id AND v.entry = m.row WHERE v.entry IS NULL""",
        "index rows without memory": """
            SELECT count(*) FROM index_entry e LEFT JOIN memory m ON m.row = e.entry
            WHERE m.row IS NULL AND e.terms IS NOT NULL""",
        "vectors without memory": """
            SELECT count(*) FROM index_vector v LEFT JOIN memory m ON m.row = v.entry WHERE m.row IS NULL""",
        "scopes that miscount": """
            SELECT count(*) FROM scope s
            WHERE s.entries <> (SELECT count(*) FROM memory m WHERE m.scope_id = s.id)""",
    }
    connection = sqlite3.connect(store)
    try:
        found = {name: connection.execute(query).fetchone()[0] for name, query in checks.items()}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        connection.close()
    return {name: count for name, count in found.items() if count}
