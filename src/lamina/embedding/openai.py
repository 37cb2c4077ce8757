"""Embeddings from any endpoint that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, TEI, LM Studio.

Not for retrying: a failure is translated and raised at once, and the caller decides whether to try again.
"""

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

import anyio
import numpy as np
from numpy.typing import NDArray

from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.families import Prefixes, chosen_prefixes, family_of, known_dimensions
from lamina.embedding.openai_wire import read_vectors
from lamina.embedding.types import Purpose
from lamina.embedding.vectors import embeddable, packed, placed, unit_rows
from lamina.endpoint.address import OPENAI_URL, api_key, host_of
from lamina.endpoint.client import EndpointClient, RawAnswer, openai
from lamina.endpoint.refusal import Service
from lamina.errors import (
    ConfigurationError,
    ContentTooLongError,
    EmbeddingFailedError,
    LaminaError,
    QueryTooLongError,
)
from lamina.kernel.clock import Clock

CONCURRENT_REQUESTS: Final = 4
"""Requests of one call that are under way at once, at most."""
REQUEST_BYTES: Final = 300_000
"""Bytes of text in one request, at most: a token is at least a byte, and OpenAI takes 300,000 tokens."""

_EMBEDDINGS: Final = Service(
    noun="embedding",
    offers="embeddings",
    failed=EmbeddingFailedError,
    smaller="lower batch_size",
    settings="model, dimensions and base_url",
)


class OpenAIEmbedder:
    """Embeds through `POST {base_url}/embeddings`.

    Where the length of the vectors is neither given nor known from the model's name, `probe` must be called
    before `name` or `dimensions` is read.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str,
        base_url: str = OPENAI_URL,
        dimensions: int | None = None,
        batch_size: int = 128,
        timeout_s: float = 30.0,
        prefixes: Prefixes | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._client = EndpointClient(
            _EMBEDDINGS, model=model, api_key=api_key, base_url=base_url, timeout_s=timeout_s, clock=clock
        )
        self._endpoint = self._client.endpoint
        self._asked_dimensions = dimensions
        self._dimensions = known_dimensions(model) if dimensions is None else dimensions
        self._batch_size = batch_size
        self._prefixes = prefixes or Prefixes()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder(model={self._endpoint.model!r}, host={self._endpoint.host!r})"

    @property
    def name(self) -> str:
        """`openai:MODEL:DIMENSIONS`, and a mark of the prefixes where there are any."""
        return f"openai:{self._endpoint.model}:{self.dimensions}{self._prefixes.mark}"

    @property
    def dimensions(self) -> int:
        """The length of every vector; raises ConfigurationError while it is not known."""
        if self._dimensions is None:
            raise ConfigurationError(
                f"The vectors of {self._endpoint.model} have an unknown length: set dimensions, or probe()."
            )
        return self._dimensions

    @property
    def knows_dimensions(self) -> bool:
        """Whether `dimensions` can be read without a call to the endpoint."""
        return self._dimensions is not None

    async def probe(self) -> int:
        """Embed one word to learn the length of the vectors, and return it; raises what `embed` raises."""
        rows = await self._request(["probe"], "document")
        return int(rows.shape[1])

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> NDArray[np.float32]:
        """One row per text, all zero for a text without visible characters; all of them or an error.

        Raises what the port names, ConfigurationError when the request can never succeed, and
        ContentTooLongError or QueryTooLongError when a text is longer than the model reads.
        """
        positions, prefixed = embeddable(texts, self._prefixes.before(purpose))
        if not positions:
            return np.zeros((len(texts), self.dimensions), dtype=np.float32)
        sizes = [len(text.encode()) for text in prefixed]
        batches = [prefixed[run] for run in packed(sizes, most=self._batch_size, limit=REQUEST_BYTES)]
        rows = np.concatenate(await self._request_all(batches, purpose))
        return placed(len(texts), self.dimensions, positions, rows)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _request_all(self, batches: list[list[str]], purpose: Purpose) -> list[NDArray[np.float32]]:
        if len(batches) == 1:
            return [await self._request(batches[0], purpose)]
        answers: dict[int, NDArray[np.float32]] = {}
        failures: list[LaminaError] = []

        async def work(queue: Iterator[tuple[int, list[str]]]) -> None:
            for number, batch in queue:
                try:
                    answers[number] = await self._request(batch, purpose)
                except LaminaError as error:
                    failures.append(error)
                    group.cancel_scope.cancel()
                    return

        queue = iter(enumerate(batches))
        async with anyio.create_task_group() as group:
            for _ in range(min(CONCURRENT_REQUESTS, len(batches))):
                group.start_soon(work, queue)
        if failures:
            raise failures[0]
        return [answers[number] for number in range(len(batches))]

    async def _request(self, batch: list[str], purpose: Purpose) -> NDArray[np.float32]:
        def send(sdk: openai.AsyncOpenAI) -> Awaitable[RawAnswer]:
            return sdk.embeddings.with_raw_response.create(
                model=self._endpoint.model,
                input=batch,
                encoding_format="float",
                dimensions=openai.omit if self._asked_dimensions is None else self._asked_dimensions,
            )

        body = await self._client.ask(send, too_long=QueryTooLongError if purpose == "query" else ContentTooLongError)
        try:
            rows = read_vectors(body, count=len(batch))
            self._check_length(rows.shape[1])
            return unit_rows(rows)
        except EmbeddingFailedError as error:
            error.details.update(self._endpoint.details)
            raise

    def _check_length(self, length: int) -> None:
        if self._dimensions is None:
            self._dimensions = length
        elif length != self._dimensions:
            raise ConfigurationError(
                f"The model {self._endpoint.model} at {self._endpoint.host} gives vectors of {length} "
                f"numbers, not {self._dimensions}: set dimensions to {length}, or choose another model.",
                details=self._endpoint.details | {"dimensions": length, "expected": self._dimensions},
            )


async def create(request: EmbedderRequest) -> OpenAIEmbedder:
    """The embedder of `openai:MODEL`; asks the endpoint for the length of its vectors where nobody knows it.

    Raises ConfigurationError when the model, the address or the key is missing or unusable.
    """
    settings, model = request.settings, request.argument
    if not model:
        raise ConfigurationError("Name a model, such as openai:text-embedding-3-small.")
    base_url = settings.base_url or OPENAI_URL
    embedder = OpenAIEmbedder(
        model=model,
        api_key=api_key(settings.api_key_env, host_of(base_url), request.environ),
        base_url=base_url,
        dimensions=settings.dimensions,
        batch_size=settings.batch_size,
        timeout_s=settings.timeout_s,
        prefixes=chosen_prefixes(settings, family_of(model)),
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(embedder.aclose)
        if not embedder.knows_dimensions:
            await embedder.probe()
        stack.pop_all()
    return embedder
