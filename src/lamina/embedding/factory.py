"""From a setting such as `openai:text-embedding-3-small` to an embedder.

A third party adds a kind with an entry point in the group `lamina.embedders`: its name is what stands before
the colon, its value an async function that takes an `EmbedderRequest` and returns an `Embedder`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, cast

import anyio.to_thread

from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.static import StaticEmbedder, shipped_embedder
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError
from lamina.kernel.plugin import built_in, find_plugin

GROUP: Final = "lamina.embedders"

_BUILT_IN: Final = built_in(
    GROUP,
    {
        "static": "lamina.embedding.factory:create_static",
        "openai": "lamina.embedding.openai:create",
        "onnx": "lamina.embedding.onnx:create",
        "fastembed": "lamina.embedding.fastembed:create",
    },
)


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
    point = find_plugin(kind, noun="embedder", group=GROUP, known=_BUILT_IN)
    create = cast("Callable[[EmbedderRequest], Awaitable[Embedder]]", point.load())
    return await create(EmbedderRequest(argument=argument.strip(), settings=settings, environ=environ))


async def create_static(request: EmbedderRequest) -> Embedder:
    """The shipped embedder, or one of the same layout from the folder after `static:`.

    Raises ConfigurationError when the folder does not hold such a model.
    """
    argument = request.argument
    load = partial(StaticEmbedder, Path(argument).expanduser()) if argument else shipped_embedder
    try:
        return await anyio.to_thread.run_sync(load)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(f"The static model cannot be loaded: {error}") from error
