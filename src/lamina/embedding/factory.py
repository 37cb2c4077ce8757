"""From a setting such as `openai:text-embedding-3-small` to an embedder.

A third party adds a kind with an entry point in the group `lamina.embedders`: its name is what stands before
the colon, its value an async function that takes an `EmbedderRequest` and returns an `Embedder`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, cast

import anyio.to_thread

from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.static import StaticEmbedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError

GROUP: Final = "lamina.embedders"

# Loaded only when asked for, like a third party's, so that one kind does not need another's packages.
_BUILT_IN: Final[Mapping[str, EntryPoint]] = {
    kind: EntryPoint(name=kind, value=f"lamina.embedding.{value}", group=GROUP)
    for kind, value in (
        ("static", "factory:create_static"),
        ("openai", "openai:create"),
        ("onnx", "onnx:create"),
        ("fastembed", "fastembed:create"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderRequest:
    """What an embedder is made from."""

    argument: str
    """What stands after the colon in the model setting: a model's name or a path; empty without a colon."""
    settings: EmbeddingSettings
    environ: Mapping[str, str]
    """The environment, for keys."""


async def create_embedder(settings: EmbeddingSettings, *, environ: Mapping[str, str]) -> Embedder:
    """The embedder that `settings.model` names, ready for use; the caller closes it.

    Raises ConfigurationError when the kind is unknown, its extra is not installed, or the model cannot be
    loaded, and what the embedder raises when it asks an endpoint about the model.
    """
    kind, _, argument = settings.model.strip().partition(":")
    point = _find(kind.strip().lower())
    create = cast("Callable[[EmbedderRequest], Awaitable[Embedder]]", point.load())
    return await create(EmbedderRequest(argument=argument.strip(), settings=settings, environ=environ))


async def create_static(request: EmbedderRequest) -> Embedder:
    """The shipped embedder, or one of the same layout from the folder after `static:`.

    Raises ConfigurationError when the folder does not hold such a model.
    """
    folder = Path(request.argument).expanduser() if request.argument else None
    try:
        return await anyio.to_thread.run_sync(StaticEmbedder, folder)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(f"The static model cannot be loaded: {error}") from error


def _find(kind: str) -> EntryPoint:
    if kind in _BUILT_IN:
        return _BUILT_IN[kind]
    registered = {point.name.lower(): point for point in entry_points(group=GROUP)}
    if kind not in registered:
        known = ", ".join(sorted({*_BUILT_IN, *registered}))
        raise ConfigurationError(
            f"There is no embedder of the kind {kind!r}; known are: {known}.", details={"kind": kind}
        )
    return registered[kind]
