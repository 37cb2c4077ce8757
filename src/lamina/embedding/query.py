"""The vectors of questions, and of texts about to be stored, for rooms that search beside memory."""

from dataclasses import dataclass

from lamina.embedding.cached import CachedEmbedder, Vector
from lamina.embedding.types import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEmbedder:
    """A cached embedder bound to the store's active model."""

    cache: CachedEmbedder
    model_id: int

    async def embed(self, text: str, *, tenant: str, purpose: Purpose = "query") -> Vector | None:
        """The vector of a question, None where there is nothing to embed; raises what the embedder raises.

        With the purpose `document` it is the vector of a text that is stored and searched for.
        """
        (found,) = await self.cache.embed([text], purpose=purpose, tenant=tenant, model_id=self.model_id)
        return found.vector
