"""One run of a command: the options every command has, and the app opened from them.

The app is imported when a command opens it, and not before: `lamina --help` must not wait for numpy and SQLAlchemy.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lamina.cli.output import Output
from lamina.errors import ConfigurationError

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.config import LoadedSettings, Settings
    from lamina.memory.types import IdentifierArguments

T = TypeVar("T")


def _nobody() -> "IdentifierArguments":
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What stood on the command line, apart from the command's own options."""

    store: str | None = None
    config: Path | None = None
    tenant: str | None = None
    embedder: str | None = None
    output: Output = field(default_factory=Output)
    identifiers: "IdentifierArguments" = field(default_factory=_nobody)

    def settings(self) -> "LoadedSettings":
        """The effective settings; raises ConfigurationError."""
        from lamina.config import load_settings

        given = {
            "database.url": self.store,
            "memory.tenant": self.tenant,
            "embedding.model": self.embedder,
        }
        try:
            return load_settings(
                self.config, overrides={name: value for name, value in given.items() if value is not None}
            )
        except ConfigurationError as error:
            # `lamina config show`, the usual advice, would fail in the same way.
            error.details.setdefault("next", "Correct it where it stands; `lamina config path` names the file.")
            raise

    def remark_if_off(self, section: str) -> None:
        """Remark that a section is switched off, where a command found nothing: then that is no wonder."""
        if not getattr(self.settings().settings, section).enabled:
            self.output.note(f"{section} is switched off: set `{section}.enabled = true` in lamina.toml")

    def run(
        self,
        work: "Callable[[App], Awaitable[T]]",
        *,
        create: bool = False,
        change: "Callable[[Settings], Settings] | None" = None,
    ) -> T:
        """Open the store, do the work, close. `change` has the last word on the settings.

        Raises ConfigurationError for a store that is not there, unless `create`: a mistyped path must not become
        a new, empty store.
        """
        import asyncio

        from lamina.app import App
        from lamina.database.upkeep import existing_store
        from lamina.observability.logging import configure_logging
        from lamina.observability.metrics import Metrics

        settings = self.settings().settings
        if change is not None:
            settings = change(settings)
        configure_logging(settings.logging.level, settings.logging.format)
        if not create and settings.database.url != ":memory:":
            existing_store(settings.database)

        async def within() -> T:
            # A command is over before a sweep would be due, it asks no model for notes on the way, and nobody reads
            # its metrics.
            brief = settings.model_copy(update={"memory": replace(settings.memory, sweep_interval_s=0.0)})
            async with App(brief, metrics=Metrics(), observing=False) as app:
                return await work(app)

        return asyncio.run(within())
