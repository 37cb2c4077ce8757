"""The one writer of a SQLite store: concurrent writes share one transaction and one fsync.

While a commit waits for the disk, further writes queue up; the next round takes them all. Each runs in its own
savepoint, so that one that fails undoes only itself, and none is told "done" before the commit is durable.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy.exc

from lamina.database.failure import closed, is_driver_error, translate
from lamina.database.link import Link

Work = Callable[[Link], Any]


@dataclass(slots=True)
class _Job:
    work: Work
    done: "Future[Any]" = field(default_factory=Future)
    result: Any = None


class GroupWriter:
    """Runs units of work on its own thread and connection, many to a commit; what `before` raises fails them all."""

    def __init__(
        self, connect: Callable[[], Link], *, batch_max: int, before: Callable[[], None] = lambda: None
    ) -> None:
        self._connect = connect
        self._before = before
        self._batch_max = batch_max
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="lamina-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> "Future[Any]":
        """Queue a unit of work; its future resolves after the commit that holds it."""
        job = _Job(work)
        with self._gate:
            if self._closed:
                raise closed()
            self._jobs.put(job)
        return job.done

    def close(self) -> None:
        """Finish what was accepted, then stop; idempotent."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _serve(self) -> None:
        link: Link | None = None
        open_for_work = True
        while open_for_work:
            batch, open_for_work = self._next_batch()
            if not batch:
                continue
            try:
                self._before()
                link = link or self._connect()
                self._commit(link, batch)
            except BaseException as error:  # noqa: BLE001 -- boundary: a failed commit fails its jobs, never the writer thread
                for job in batch:
                    _fail(job, error)
                _discard(link)
                link = None
        _discard(link)

    def _next_batch(self) -> tuple[list[_Job], bool]:
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            if job.done.set_running_or_notify_cancel():
                batch.append(job)
            if len(batch) >= self._batch_max or self._jobs.empty():
                return batch, True
            job = self._jobs.get()
        return batch, False

    def _commit(self, link: Link, batch: list[_Job]) -> None:
        raw = link.raw
        raw.execute("BEGIN IMMEDIATE")
        kept = [job for job in batch if _attempt(link, job)]
        raw.execute("COMMIT")
        for job in kept:
            job.done.set_result(job.result)


def _attempt(link: Link, job: _Job) -> bool:
    raw = link.raw
    raw.execute("SAVEPOINT unit")
    try:
        job.result = job.work(link)
    except BaseException as error:  # boundary: whatever a unit of work raises belongs to its caller
        if raw.in_transaction:
            raw.execute("ROLLBACK TO unit")
            raw.execute("RELEASE unit")
            _fail(job, error)
            return False
        # SQLite gave up the whole transaction (disk full, I/O): every unit of this round is undone.
        _fail(job, error)
        raise
    raw.execute("RELEASE unit")
    return True


def _fail(job: _Job, error: BaseException) -> None:
    if not job.done.done():
        job.done.set_exception(translate(error) if is_driver_error(error) else error)


def _discard(link: Link | None) -> None:
    if link is None:
        return
    # A disk that failed the commit may fail the rollback, too; closing undoes the transaction as well.
    with suppress(sqlite3.Error):
        if link.raw.in_transaction:
            link.raw.execute("ROLLBACK")
    with suppress(sqlite3.Error, sqlalchemy.exc.SQLAlchemyError):
        link.connection.close()
