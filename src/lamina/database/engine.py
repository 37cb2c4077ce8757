"""The store as the rooms see it: `read` and `write` a unit of work, one hop to a thread each.

Work is a plain function of a `Link`; it runs on a thread that owns a connection, so there is no pool to check out
of and no async driver. SQLite has one writer thread (`writer`), PostgreSQL one transaction a unit of work.
"""

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from lamina.database.address import Address, create_engine, parse_address
from lamina.database.failure import closed, is_driver_error, translate
from lamina.database.link import DialectName, Link
from lamina.database.migrate import migrate
from lamina.database.settings import DatabaseSettings
from lamina.database.together import ReadsTogether, current_reads
from lamina.database.writer import GroupWriter
from lamina.errors import ConfigurationError

T = TypeVar("T")


class View:
    """One state of a store, which stays the same however long it is looked at."""

    def __init__(self, read: Callable[[Callable[[Link], Any]], Awaitable[Any]]) -> None:
        self._read = read

    async def read(self, work: Callable[[Link], T]) -> T:
        """What `work` reads; it must not write."""
        result: T = await self._read(work)
        return result


class Database:
    """An open store. Every failure of the engine surfaces as an error of `lamina.errors`."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self._scratch: str | None = None
        url = settings.url
        if url == ":memory:":
            self._scratch = tempfile.mkdtemp(prefix="lamina-")
            url = str(Path(self._scratch) / "lamina.db")
        self.address: Address = parse_address(url)
        self.name: DialectName = "sqlite" if self.address.path else "postgresql"
        self._settings = settings
        self._engine = create_engine(self.address, busy_timeout_s=settings.busy_timeout_s)
        self._local = threading.local()
        self._links: list[Link] = []
        self._gate = threading.Lock()
        self._threads = ThreadPoolExecutor(settings.pool_size, thread_name_prefix="lamina-store")
        self._writer: GroupWriter | None = None
        self._closed = False
        self._path = self.address.path and self.address.path.absolute()
        self._file: tuple[int, int] | None = None

    async def open(self, *, create: bool = True) -> None:
        """Create or migrate the schema where that is needed, and get ready to write."""
        await self._hop(self._open, create)

    def _open(self, create: bool) -> None:
        path = self.address.path
        if path is not None and not path.exists() and not create:
            raise ConfigurationError(f"There is no store at {path}.", details={"path": str(path)})
        if path is not None and path.is_dir():
            raise ConfigurationError(f"{path} is a folder; name the file of the store.", details={"path": str(path)})
        if path is not None and not path.parent.is_dir():
            raise ConfigurationError(
                f"The folder {path.parent} does not exist; create it, or choose another path for the store."
            )
        migrate(self._engine)
        if self.name == "sqlite":
            self._file = self._identity()
            self._writer = GroupWriter(
                self._connect, batch_max=self._settings.group_commit_max, before=self.refuse_another_file
            )

    async def read(self, work: Callable[[Link], T]) -> T:
        """Run `work` on one consistent view of the store; it must not write."""
        shared = current_reads.get()
        if shared is not None and shared[0] is self and shared[1].is_open:
            return await shared[1].read(work)
        return await self._hop(self._read, work)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let the reads that begin inside, also in tasks started there, share a hop to a thread.

        PostgreSQL works on several connections at once, so there every read keeps its own.
        """
        if self.name == "postgresql":
            yield
            return
        reads = ReadsTogether(self._view, self._submit)
        token = current_reads.set((self, reads))
        try:
            yield
        finally:
            current_reads.reset(token)
            reads.close()

    @asynccontextmanager
    async def view(self) -> AsyncIterator[View]:
        """One view of the store for reads that follow each other, whatever is written meanwhile.

        It has a connection of its own, so that it may be held for long and takes no other read's place.
        """
        if self._closed:
            raise closed()
        thread = ThreadPoolExecutor(1, thread_name_prefix="lamina-view")
        begun = thread.submit(self._guard, self._begin_view)

        def read(work: Callable[[Link], Any]) -> Awaitable[Any]:
            return asyncio.wrap_future(thread.submit(self._guard, work, begun.result()))

        try:
            await asyncio.wrap_future(begun)
            yield View(read)
        finally:
            # Behind what is still being read there for a caller that has gone.
            thread.submit(_end_view, begun)
            thread.shutdown(wait=False)

    def _begin_view(self) -> Link:
        link = self._connect()
        if self.name == "postgresql":
            link.raw.autocommit = True
            link.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        else:
            link.raw.execute("BEGIN")
        return link

    async def write(self, work: Callable[[Link], T]) -> T:
        """Run `work` in one transaction; durable when this returns, undone whole when `work` raises."""
        if self._writer is not None:
            result: T = await asyncio.wrap_future(self._writer.submit(work))
            return result
        return await self._hop(self._write, work)

    def read_now(self, work: Callable[[Link], T]) -> T:
        """`read` for a caller that is already on a thread of its own, such as a metrics reader."""
        future: Future[T] = self._submit(self._read, work)
        return future.result()

    async def close(self) -> None:
        """Finish accepted writes and close every connection; idempotent."""
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._threads.shutdown(wait=True)
        for link in self._links:
            link.connection.close()
        self._engine.dispose()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def _hop(self, function: Callable[..., T], *args: object) -> T:
        """What a function gives on a thread of the store; one whose caller is gone before it begins is not run."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            if answer.cancelled():
                return
            result: Any = None
            failure: BaseException | None = None
            try:
                result = self._guard(function, *args)
            except BaseException as error:  # noqa: BLE001 -- boundary: whatever it is, it belongs to who asked
                failure = error
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(_settle, answer, result, failure)

        try:
            self._threads.submit(run)
        except RuntimeError:
            raise closed() from None
        return await answer

    def _submit(self, function: Callable[..., T], *args: object) -> "Future[T]":
        try:
            return self._threads.submit(self._guard, function, *args)
        except RuntimeError:
            raise closed() from None

    @staticmethod
    def _guard(function: Callable[..., T], *args: object) -> T:
        try:
            return function(*args)
        except Exception as error:  # boundary: the driver's exceptions become ours, everything else passes
            if is_driver_error(error):
                raise translate(error) from None
            raise

    def _connect(self) -> Link:
        self.refuse_another_file()
        return Link(self._engine.connect())

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path) if self._path else None
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    def refuse_another_file(self) -> None:
        """Raise ConfigurationError for a file of SQLite that was removed or replaced since it was opened.

        SQLite goes on with a file that has lost its name; what is written to it would be gone with the process.
        """
        if self.name == "sqlite" and self._identity() != self._file:
            raise ConfigurationError(
                f"The file {self.address.path} was removed or replaced while the store was open; nothing of this"
                " operation was stored. Put the file back, or close the store and open it again.",
                details={"reason": "moved"},
            )

    def _link(self) -> Link:
        link: Link | None = getattr(self._local, "link", None)
        if link is None:
            link = self._connect()
            if self.name == "postgresql":
                link.raw.autocommit = True  # a single SELECT needs no BEGIN and COMMIT round trips
            with self._gate:
                self._links.append(link)
            self._local.link = link
        return link

    def _read(self, work: Callable[[Link], T]) -> T:
        link = self._link()
        if self.name == "postgresql":
            return self._keeping(link, work)
        link.raw.execute("BEGIN")
        try:
            return work(link)
        finally:
            if link.raw.in_transaction:  # not after an error that made SQLite give up the view
                link.raw.execute("ROLLBACK")

    @contextmanager
    def _view(self) -> Iterator[Callable[[Callable[[Link], Any]], Any]]:
        """Reads of SQLite on one view; a new one begins after an error that made SQLite give it up."""

        def read(work: Callable[[Link], Any]) -> Any:
            link = self._link()
            if not link.raw.in_transaction:
                link.raw.execute("BEGIN")
            return work(link)

        try:
            yield lambda work: self._guard(read, work)
        finally:
            link: Link | None = getattr(self._local, "link", None)
            if link is not None and link.raw.in_transaction:
                link.raw.execute("ROLLBACK")

    def _write(self, work: Callable[[Link], T]) -> T:
        def transaction(link: Link) -> T:
            with link.raw.transaction():
                return work(link)

        return self._keeping(self._link(), transaction)

    def _keeping(self, link: Link, work: Callable[[Link], T]) -> T:
        """Run `work`, and forget the connection if it broke, so that the next unit gets a new one."""
        try:
            return work(link)
        finally:
            if link.raw.closed:
                with self._gate:
                    self._links.remove(link)
                self._local.link = None
                link.connection.invalidate()
                link.connection.close()


def _end_view(begun: "Future[Link]") -> None:
    if not begun.cancelled() and begun.exception() is None:
        begun.result().connection.close()


def _settle(answer: "asyncio.Future[Any]", result: Any, failure: BaseException | None) -> None:
    if answer.done():  # whoever asked has given up
        return
    if failure is None:
        answer.set_result(result)
    else:
        answer.set_exception(failure)
