"""The one writer of a SQLite store: shared commits, isolated failures, order, durability."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.database.address import create_engine, parse_address
from lamina.database.link import Link
from lamina.database.writer import GroupWriter
from lamina.errors import ConfigurationError, ProviderError


class Bench:
    """A writer on a file with a table of numbers, held up on demand, and what it said to SQLite."""

    def __init__(self, path: Path, *, batch_max: int = 256) -> None:
        self.path = path
        self.said: list[str] = []
        self.connections = 0
        self._engine = create_engine(parse_address(str(path)), busy_timeout_s=5)
        with self._engine.connect() as connection:
            for statement in (
                "CREATE TABLE line (row INTEGER PRIMARY KEY AUTOINCREMENT, number INTEGER UNIQUE)",
                "CREATE TABLE child (line INTEGER REFERENCES line (number) DEFERRABLE INITIALLY DEFERRED)",
            ):
                connection.execute(sa.text(statement))
        self.writer = GroupWriter(self._connect, batch_max=batch_max)

    def _connect(self) -> Link:
        link = Link(self._engine.connect())
        link.raw.set_trace_callback(self.said.append)
        self.connections += 1
        return link

    def hold(self) -> threading.Event:
        """Keep the writer busy until the event is set, so that what is submitted meanwhile queues up."""
        begun, go_on = threading.Event(), threading.Event()

        def wait(link: Link) -> None:
            begun.set()
            assert go_on.wait(30)

        self.writer.submit(wait)
        assert begun.wait(30)
        return go_on

    def put(self, number: int) -> "Future[Any]":
        return self.writer.submit(lambda link: link.raw.execute("INSERT INTO line (number) VALUES (?)", (number,)))

    def numbers(self) -> list[int]:
        """What another connection sees."""
        connection = sqlite3.connect(self.path)
        try:
            return [row[0] for row in connection.execute("SELECT number FROM line ORDER BY row")]
        finally:
            connection.close()

    @property
    def commits(self) -> int:
        return self.said.count("COMMIT")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.writer.close()


def results(futures: "list[Future[Any]]") -> list[BaseException | None]:
    return [each.exception(30) for each in futures]


def test_writes_that_queue_up_share_one_commit(bench: Bench) -> None:
    go_on = bench.hold()
    waiting = [bench.put(number) for number in range(100)]
    go_on.set()
    assert results(waiting) == [None] * 100
    assert bench.commits == 2
    assert bench.connections == 1


def test_a_commit_takes_no_more_writes_than_it_may(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "store.db", batch_max=10)
    go_on = bench.hold()
    waiting = [bench.put(number) for number in range(95)]
    go_on.set()
    assert results(waiting) == [None] * 95
    assert bench.commits == 11
    bench.writer.close()


def test_writes_keep_their_order(bench: Bench) -> None:
    go_on = bench.hold()
    numbers = [number * 7919 % 101 for number in range(100)]
    waiting = [bench.put(number) for number in numbers]
    go_on.set()
    results(waiting)
    assert bench.numbers() == numbers


def test_what_is_acknowledged_is_seen_by_everybody(bench: Bench) -> None:
    seen: list[tuple[int, list[int]]] = []
    go_on = bench.hold()
    for number in range(20):
        # Called on the writer's thread, at the very moment the caller is told.
        bench.put(number).add_done_callback(lambda _, number=number: seen.append((number, bench.numbers())))  # type: ignore[misc]
    go_on.set()
    bench.writer.close()
    assert len(seen) == 20
    assert all(number in visible for number, visible in seen)


def test_one_bad_write_fails_alone_and_leaves_nothing_behind(bench: Bench) -> None:
    def half(link: Link) -> None:
        link.raw.execute("INSERT INTO line (number) VALUES (1000)")
        raise ZeroDivisionError

    go_on = bench.hold()
    waiting = [bench.put(1), bench.writer.submit(half), bench.put(1), bench.put(2)]
    go_on.set()
    failures = results(waiting)
    assert [type(each) for each in failures] == [type(None), ZeroDivisionError, ProviderError, type(None)]
    assert bench.numbers() == [1, 2]
    assert bench.commits == 2


def test_a_commit_that_fails_fails_all_its_writes_and_the_writer_goes_on(bench: Bench) -> None:
    go_on = bench.hold()
    orphan = bench.writer.submit(lambda link: link.raw.execute("INSERT INTO child VALUES (77)"))
    neighbour = bench.put(1)
    go_on.set()
    assert [type(each) for each in results([orphan, neighbour])] == [ProviderError, ProviderError]
    assert bench.numbers() == []
    assert results([bench.put(2)]) == [None]
    assert bench.numbers() == [2]
    assert bench.connections == 2


def test_a_write_given_up_before_its_turn_is_not_made(bench: Bench) -> None:
    go_on = bench.hold()
    first, second = bench.put(1), bench.put(2)
    assert first.cancel()
    go_on.set()
    with pytest.raises(CancelledError):
        first.result(30)
    assert results([second]) == [None]
    assert bench.numbers() == [2]


def test_closing_finishes_what_was_accepted_and_takes_no_more(bench: Bench) -> None:
    go_on = bench.hold()
    waiting = [bench.put(number) for number in range(10)]
    closing = threading.Thread(target=bench.writer.close)
    closing.start()
    go_on.set()
    closing.join(30)
    bench.writer.close()
    assert results(waiting) == [None] * 10
    assert bench.numbers() == list(range(10))
    with pytest.raises(ConfigurationError, match="closed"):
        bench.put(11)
