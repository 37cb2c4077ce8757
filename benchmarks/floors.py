"""What the same work costs with nothing around it: the floors that Lamina is compared with.

Everything that is not the bare work is done before the clock starts: a floor is handed a finished MATCH expression,
finished terms, a finished vector. So the floors are as low as they can honestly be; Lamina's side always includes
reading the question, embedding it, and building the results.
"""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamina.index.query import prepare_query
from lamina.index.terms import analyse

LIMIT = 10


def fts5_expression(question: str) -> str:
    """The words of a question, OR-ed, each quoted so that none is syntax."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question.lower())))


class Fts5Floor:
    """A bare FTS5 table: `MATCH ... ORDER BY bm25 LIMIT 10`, row numbers only."""

    def __init__(self, path: Path, texts: Sequence[str], asked: Sequence[str]) -> None:
        self._connection = sqlite3.connect(path)
        with self._connection:
            self._connection.execute("CREATE VIRTUAL TABLE entry USING fts5(content)")
            self._connection.executemany("INSERT INTO entry(content) VALUES (?)", ((text,) for text in texts))
            self._connection.execute("INSERT INTO entry(entry) VALUES ('optimize')")
        self._asked = [fts5_expression(question) for question in asked]

    def search(self, number: int) -> object:
        """Run the query of one question."""
        return self._connection.execute(
            "SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY bm25(entry) LIMIT ?", (self._asked[number], LIMIT)
        ).fetchall()

    def close(self) -> None:
        self._connection.close()


class NumpyFloor:
    """BM25 over one postings array with finished impacts, one matrix-vector product, the best ten of the sum."""

    def __init__(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        asked: Sequence[str],
        asked_vectors: NDArray[np.float32],
    ) -> None:
        terms = [analyse(text) for text in texts]
        hashes = np.concatenate([found.hashes for found in terms])
        counts = np.concatenate([found.counts for found in terms]).astype(np.float32)
        sizes = np.array([len(found.hashes) for found in terms])
        slots = np.repeat(np.arange(len(texts)), sizes)
        lengths = np.array([found.length for found in terms], np.float32)
        order = np.argsort(hashes, kind="stable")
        known, starts, frequencies = np.unique(hashes[order], return_index=True, return_counts=True)
        norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        rarity = np.log(1 + (len(texts) - frequencies + 0.5) / (frequencies + 0.5))
        strengths = counts * 2.2 / (counts + norms[slots])
        self._slots = slots[order].astype(np.int32)
        self._impacts = (strengths[order] * np.repeat(rarity, frequencies)).astype(np.float32)
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        ends = starts + frequencies
        places = {
            term: slice(*span) for term, *span in zip(known.tolist(), starts.tolist(), ends.tolist(), strict=True)
        }
        self._asked = [
            [places[term] for term in prepare_query(question, None).terms if term in places] for question in asked
        ]
        self._asked_vectors = asked_vectors

    def search(self, number: int) -> object:
        """Score every entry for one question and choose."""
        scores = self._vectors @ self._asked_vectors[number]
        for span in self._asked[number]:
            scores[self._slots[span]] += self._impacts[span]
        return np.argpartition(scores, -LIMIT)[-LIMIT:] if len(scores) > LIMIT else scores


class InsertFloor:
    """A bare transaction of one row with a 512-byte blob, WAL, synchronous FULL: the durability Lamina gives."""

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, content TEXT, vector BLOB)")
        self._rows = [(text, bytes(512)) for text in texts]

    def add(self, number: int) -> None:
        """Write one row, durably."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO entry (content, vector) VALUES (?, ?)", self._rows[number])
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
