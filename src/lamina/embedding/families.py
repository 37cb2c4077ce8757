"""What is known of well-known embedding models by their names; settings override all of it."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal

from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Purpose

TokenPooling = Literal["mean", "cls", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """The texts a model wants before a question and before a document; empty where it wants none."""

    query: str = ""
    document: str = ""

    def before(self, purpose: Purpose) -> str:
        """The prefix of one purpose."""
        return self.query if purpose == "query" else self.document

    @property
    def mark(self) -> str:
        """What the prefixes add to an embedder's name, because they change its vectors; empty without any."""
        if not self.query and not self.document:
            return ""
        return ":" + hashlib.sha256(f"{self.query}\0{self.document}".encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How the models of one family want to be used."""

    prefixes: Prefixes = Prefixes()
    pooling: TokenPooling = "mean"


_SEARCH: Final = "Represent this sentence for searching relevant passages: "
_INSTRUCT: Final = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

# The first match counts, so a special case stands before the general one.
_FAMILIES: Final[tuple[tuple[re.Pattern[str], Family], ...]] = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"\be5-mistral", Family(prefixes=Prefixes(query=_INSTRUCT), pooling="last")),
        (r"\be5\b.*instruct", Family(prefixes=Prefixes(query=_INSTRUCT))),
        (r"\be5\b", Family(prefixes=Prefixes(query="query: ", document="passage: "))),
        (r"\bbge-(small|base|large)-en\b", Family(prefixes=Prefixes(query=_SEARCH), pooling="cls")),
        (r"\bbge\b", Family(pooling="cls")),
        (r"\bmxbai-embed\b", Family(prefixes=Prefixes(query=_SEARCH), pooling="cls")),
        (r"\barctic-embed.*(v2|2\b)", Family(prefixes=Prefixes(query="query: "), pooling="cls")),
        (r"\barctic-embed\b", Family(prefixes=Prefixes(query=_SEARCH), pooling="cls")),
        (
            r"\b(nomic-embed-text|modernbert-embed)\b",
            Family(prefixes=Prefixes(query="search_query: ", document="search_document: ")),
        ),
        (
            r"\bembeddinggemma\b",
            Family(prefixes=Prefixes(query="task: search result | query: ", document="title: none | text: ")),
        ),
        (r"\bqwen3-embedding\b", Family(prefixes=Prefixes(query=_INSTRUCT), pooling="last")),
        (r"\bgte-.*-v1\.5\b", Family(pooling="cls")),
    )
)

_DIMENSIONS: Final[dict[str, int]] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768,
    "nomic-embed-text-v1": 768,
    "nomic-embed-text-v1.5": 768,
    "mxbai-embed-large": 1024,
    "mxbai-embed-large-v1": 1024,
    "bge-m3": 1024,
    "bge-large": 1024,
    "bge-small-en-v1.5": 384,
    "bge-base-en-v1.5": 768,
    "bge-large-en-v1.5": 1024,
    "all-minilm": 384,
    "all-minilm-l6-v2": 384,
    "all-minilm-l12-v2": 384,
    "all-mpnet-base-v2": 768,
    "e5-small-v2": 384,
    "e5-base-v2": 768,
    "e5-large-v2": 1024,
    "multilingual-e5-small": 384,
    "multilingual-e5-base": 768,
    "multilingual-e5-large": 1024,
    "snowflake-arctic-embed": 1024,
    "snowflake-arctic-embed2": 1024,
    "embeddinggemma": 768,
}


def family_of(*names: str) -> Family:
    """The family of the first name that is known; plain mean pooling without prefixes for none."""
    for name in names:
        plain = name.lower().replace("_", "-")
        for pattern, family in _FAMILIES:
            if pattern.search(plain):
                return family
    return Family()


def known_dimensions(model: str) -> int | None:
    """The length of a well-known model's vectors; None when only the model itself can tell.

    The publisher before the name and the tag `latest` do not matter; another tag may be another size.
    """
    return _DIMENSIONS.get(model.lower().removesuffix(":latest").rpartition("/")[2])


def chosen_prefixes(settings: EmbeddingSettings, family: Family) -> Prefixes:
    """The settings' prefixes, and the family's where a setting is unset; an empty setting means none."""
    query, document = settings.query_prefix, settings.document_prefix
    return Prefixes(
        query=family.prefixes.query if query is None else query,
        document=family.prefixes.document if document is None else document,
    )
