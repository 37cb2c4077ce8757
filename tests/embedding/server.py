"""A server on loopback that speaks the embeddings protocol."""

import hashlib
from dataclasses import dataclass
from typing import Any

from tests.endpoint.loopback import Answer, LoopbackServer


@dataclass(slots=True)
class EmbeddingsServer(LoopbackServer):
    """Embeds every text as `vector` does, in as many dimensions as it is asked for."""

    dimensions: int = 8

    def answer(self, body: dict[str, Any]) -> Answer:
        """The right answer."""
        rows = [vector(text, body.get("dimensions", self.dimensions)) for text in body["input"]]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        usage = {"prompt_tokens": len(rows), "total_tokens": len(rows)}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def vector(text: str, dimensions: int) -> list[float]:
    """A direction that only the text decides, not of length one."""
    digest = hashlib.shake_256(text.encode()).digest(dimensions)
    return [(byte - 127.25) / 64 for byte in digest]
