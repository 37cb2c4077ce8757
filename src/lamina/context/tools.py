"""The Tool Registry layer: which of the available tools serve a query.

Tools are few and known to the process, so they are not stored: an index of their own in memory ranks them by words
and by meaning with the code that ranks everything else. Any keyword that a name or a description has is a match;
what counts is how many match and how rare they are, and a name says more than a description.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from lamina.context.keywords import extract_keywords
from lamina.context.stored import ItemSearch, StoredSource
from lamina.context.types import ContextItem, ContextLayer, LayerRequest, Origin
from lamina.database.link import Link
from lamina.embedding.types import Embedder
from lamina.errors import InvalidInputError
from lamina.index.query import Query, prepare_query
from lamina.index.ranking import Ranked, RankingModel
from lamina.index.rows import RowBatch
from lamina.index.scope import ScopeIndex
from lamina.index.search import Rankings, Search, Wanted
from lamina.index.signals import Explanation
from lamina.index.store import pack_vector
from lamina.index.terms import analyse, fold, pack

_NAME_WEIGHT = 2
_SHORTEST_PART = 3
_PART_OF_A_WORD = 0.01  # what a keyword inside a longer word is worth: just enough for the default threshold
# Where the words of a name meet: camelCase, HTTPServer, snake_case, kebab-case, a.b, a/b, a&b.
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescriptor:
    """What a model is told about a tool. `origin` is tool or import where a third party wrote the description."""

    name: str
    description: str = ""
    origin: Origin = Origin.HOST


Tool = ToolDescriptor | Callable[..., object]
"""What can be offered: a description, or a function that describes itself."""


def describe(tool: Tool) -> ToolDescriptor:
    """The descriptor of a tool: of a function its name and the first paragraph of its docstring.

    Raises InvalidInputError for what has no name.
    """
    if isinstance(tool, ToolDescriptor):
        return tool
    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    if not isinstance(name, str):
        raise InvalidInputError("A tool needs a name: pass a ToolDescriptor or a function.", details={"field": "tools"})
    told = getattr(tool, "description", None) or inspect.getdoc(tool) or ""
    return ToolDescriptor(name=name, description=" ".join(str(told).split("\n\n")[0].split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMatch:
    """A tool that serves a query, with its relevance in [0, 1] and the parts that add up to it."""

    tool: ToolDescriptor
    score: float = 1.0
    signals: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name


class ToolRegistryProvider(Protocol):
    """Supplies the tools of an agent."""

    def list_tools(self) -> Sequence[ToolDescriptor]:
        """Every registered tool."""
        ...

    async def search_tools(self, query: str, limit: int) -> Sequence[ToolMatch]:
        """The tools that serve the query, best first, at most `limit` (0: all of them)."""
        ...


class ToolRegistryAdapter(StoredSource):
    """A fixed list of tools as a provider.

    The list is copied, so what happens to it outside does not matter. Without an embedder words alone decide.
    """

    def __init__(
        self,
        tools: Iterable[ToolDescriptor],
        *,
        embedder: Embedder | None = None,
        ranking: RankingModel | None = None,
        threshold: float = 0.01,
    ) -> None:
        self._tools = tuple({tool.name: tool for tool in tools}.values())
        self._embedder = embedder
        self._ranking = ranking or RankingModel()
        self._threshold = threshold
        self._index: ScopeIndex | None = None
        self._building = anyio.Lock()
        self._names = [fold(tool.name) for tool in self._tools]
        self._texts = [fold(f"{tool.name}\n{tool.description}") for tool in self._tools]

    def list_tools(self) -> tuple[ToolDescriptor, ...]:
        """Every tool, in the order given; the last one of a name counts."""
        return self._tools

    async def search_tools(self, query: str, limit: int) -> tuple[ToolMatch, ...]:
        """The tools that serve the query, best first, at most `limit` (0: all); none for a query without keywords.

        Raises what the embedder raises.
        """
        keywords = extract_keywords(query)
        if not self._tools or not keywords:
            return ()
        index = self._index or await self._build()
        vector = None
        if self._embedder is not None:
            vector = (await self._embedder.embed([query], purpose="query"))[0]
        most = limit if limit > 0 else len(self._tools)
        ranked = index.rank(
            prepare_query(query, vector), model=self._ranking, limit=most, threshold=self._threshold, now=0.0
        )
        return self._matches(ranked, keywords, most)

    def ranks_with(self, model: RankingModel) -> bool:
        """Whether its tools are embedded and can be ranked beside what is ranked with this model."""
        return self._index is not None and self._embedder is not None and self._ranking is model

    async def search(self, request: LayerRequest, query: Query) -> ItemSearch:
        """What `search_tools` does, ranked beside other layers."""
        index = self._index or await self._build()

        def finish(link: Link, rankings: Rankings) -> list[ContextItem]:
            (ranked,) = rankings
            assert ranked is not None
            return list(map(tool_item, self._matches(ranked, request.keywords, request.limit)))

        return Search(
            wanted=(Wanted(scope=index, limit=request.limit, threshold=self._threshold, counted=False),), finish=finish
        )

    def _matches(self, ranked: Ranked, keywords: tuple[str, ...], most: int) -> tuple[ToolMatch, ...]:
        found = [
            ToolMatch(tool=self._tools[entry], score=score, signals=Explanation(ranked.signals, at))
            for at, (entry, score) in enumerate(zip(ranked.entries.tolist(), ranked.scores.tolist(), strict=True))
        ]
        if len(found) < most and self._threshold <= _PART_OF_A_WORD:
            found += self._parts_of_words(keywords, {match.name for match in found})[: most - len(found)]
        return tuple(found)

    def _parts_of_words(self, keywords: tuple[str, ...], known: set[str]) -> list[ToolMatch]:
        """Tools that have a keyword only inside a longer word, those with more of them and in the name first."""
        parts = [word for word in keywords if len(word) >= _SHORTEST_PART]
        counted: list[tuple[int, ToolMatch]] = []
        for tool, name, text in zip(self._tools, self._names, self._texts, strict=True):
            if tool.name in known:
                continue
            hits = sum((word in text) + (word in name) for word in parts)
            if hits:
                score = _PART_OF_A_WORD * (1 + hits / (2 * len(parts)))
                counted.append((hits, ToolMatch(tool=tool, score=score, signals={"substring": score})))
        counted.sort(key=lambda pair: -pair[0])
        return [match for _, match in counted]

    async def _build(self) -> ScopeIndex:
        async with self._building:
            if self._index is None:
                self._index = await self._indexed()
            return self._index

    async def _indexed(self) -> ScopeIndex:
        tools = self._tools
        spaced = [" ".join(part for part in _JOINT.split(tool.name) if part) for tool in tools]
        vectors: list[bytes | None] = [None] * len(tools)
        dimensions = 1
        if self._embedder is not None:
            dimensions = self._embedder.dimensions
            texts = [f"{name}: {tool.description}" for name, tool in zip(spaced, tools, strict=True)]
            vectors = [pack_vector(row) for row in await self._embedder.embed(texts, purpose="document")]
        terms = [
            pack(analyse(" ".join([tool.name, *[name] * _NAME_WEIGHT, tool.description])))
            for name, tool in zip(spaced, tools, strict=True)
        ]
        none = [0] * len(tools)
        index = ScopeIndex(dimensions=dimensions)
        index.upsert(
            RowBatch(
                entries=range(len(tools)),
                terms=terms,
                vectors=vectors,
                conversations=none,
                sequences=none,
                authors=none,
                said_at=[0.0] * len(tools),
                expires_at=[math.inf] * len(tools),
            )
        )
        return index


def tool_item(match: ToolMatch) -> ContextItem:
    """A tool as an item of its layer."""
    return ContextItem(
        layer=ContextLayer.TOOL_REGISTRY,
        key=match.tool.name,
        content=match.tool.description,
        score=match.score,
        signals=match.signals,
        origin=match.tool.origin,
    )
