"""Translates what drivers raise into the errors of the house."""

import sqlite3

import sqlalchemy.exc

from lamina.errors import (
    ConfigurationError,
    LaminaError,
    OperationTimeoutError,
    ProviderError,
    UnauthorizedError,
)

_SQLITE_REASONS = {
    "SQLITE_FULL": (
        "disk_full",
        "The disk is full; nothing of this operation was stored. Free some space and try again.",
    ),
    "SQLITE_IOERR": (
        "io_error",
        "The disk failed to read or write the store; check the disk, then `lamina doctor`.",
    ),
    "SQLITE_CORRUPT": (
        "corrupt",
        "The store is damaged; restore a backup, or export what can be read with `lamina export`.",
    ),
    "SQLITE_NOTADB": ("not_a_store", "The file is not a Lamina store; check the path."),
    "SQLITE_READONLY": ("read_only", "The store is read-only; check the file's permissions."),
    "SQLITE_CANTOPEN": (
        "cannot_open",
        "The store cannot be opened; check that the folder exists and is writable.",
    ),
}


def is_driver_error(error: BaseException) -> bool:
    """Whether a database driver, or SQLAlchemy on its behalf, raised this."""
    return isinstance(error, sqlite3.Error | sqlalchemy.exc.SQLAlchemyError) or _is_psycopg(error)


def _is_psycopg(error: BaseException) -> bool:
    # By name: psycopg is optional, and importing it to ask would make it compulsory.
    return any(kind.__module__.split(".")[0] == "psycopg" for kind in type(error).__mro__)


def closed() -> ConfigurationError:
    """For work handed to a store after its end: trying again cannot help."""
    return ConfigurationError("The store is closed; open it again.", details={"reason": "closed"})


def translate(error: BaseException) -> LaminaError:
    """The house's error for a driver's; the driver's message stays out of it, it may quote content."""
    if isinstance(error, sqlalchemy.exc.DBAPIError) and error.orig is not None:
        return translate(error.orig)
    if isinstance(error, sqlite3.Error):
        return _translate_sqlite(error)
    if _is_psycopg(error):
        return _translate_psycopg(error)
    return ProviderError(f"The store failed ({type(error).__name__}).", details={"reason": "unknown"})


def _translate_sqlite(error: sqlite3.Error) -> LaminaError:
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return OperationTimeoutError(
            "Another process held the store's write lock for longer than the busy timeout; try again.",
            details={"reason": "locked"},
        )
    for prefix, (reason, message) in _SQLITE_REASONS.items():
        if name.startswith(prefix):
            return ProviderError(message, details={"reason": reason, "sqlite": name})
    return ProviderError("The store failed.", details={"reason": "unknown", "sqlite": name or type(error).__name__})


def _translate_psycopg(error: BaseException) -> LaminaError:
    state = getattr(error, "sqlstate", None) or ""
    details: dict[str, object] = {"reason": "unknown", "sqlstate": state}
    if state.startswith("28"):
        return UnauthorizedError("PostgreSQL refused the user or password.", details={"sqlstate": state})
    if state in ("40001", "40P01"):
        return ProviderError("Concurrent transactions collided; try again.", details={**details, "reason": "conflict"})
    if state in ("55P03", "57014"):
        return OperationTimeoutError("PostgreSQL did not answer in time.", details={**details, "reason": "timeout"})
    if state in ("53100", "53200"):
        return ProviderError("PostgreSQL is out of disk or memory.", details={**details, "reason": "disk_full"})
    if not state or state.startswith(("08", "57")):
        return ProviderError("The connection to PostgreSQL failed.", details={**details, "reason": "connection"})
    return ProviderError("PostgreSQL failed.", details=details)
