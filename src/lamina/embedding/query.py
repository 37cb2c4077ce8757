"""The vector of a question, for rooms that search beside memory."""

from dataclasses import dataclass

from lamina.embedding.cached import CachedEmbedder, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEmbedder:
    """A cached embedder bound to the store's active model."""

    cache: CachedEmbedder
    model_id: int

    async def embed(self, text: str, *, tenant: str) -> Vector | None:
        """The vector of a question, None where there is nothing to embed; raises what the embedder raises."""
        (found,) = await self.cache.embed([text], purpose="query", tenant=tenant, model_id=self.model_id)
        return found.vector
