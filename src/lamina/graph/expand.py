"""GraphRAG: from what a search found, over the graph, to what belongs to it; with content, within a budget.

The walk starts at the names in the hits and in the query. Each step halves what an entity counts, a name that occurs
everywhere counts little, and triples that only say "seen together" lead on but are not shown.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lamina.database.link import Link
from lamina.database.schema import to_micros
from lamina.database.texts import StoredTexts
from lamina.graph.names import fold
from lamina.graph.reading import (
    Edge,
    Mention,
    View,
    canonical_names,
    edges_of,
    mentioned_in,
    mentions_of,
    spelled_out,
)
from lamina.graph.types import Direction, Expansion, Predicate, RelatedText, RelatedTriple, Source
from lamina.graph.words import STOP_WORDS
from lamina.kernel.tokens import TokenCounter, estimate_tokens

_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”«»]+")
_MOST_WORDS = 64
_LONGEST_PHRASE = 4
_MOST_SEEDS = 16
_HIT_DECAY = 0.9
_STEP_DECAY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandRequest:
    """What to start from, and how much may come back. `hits` are (kind, key) pairs, best first."""

    hits: tuple[tuple[str, str], ...]
    query: str
    depth: int
    fanout: int
    most_entities: int
    most_triples: int
    most_texts: int
    most_tokens: int
    """0 is unlimited."""
    count_tokens: TokenCounter = estimate_tokens


@dataclass(slots=True, kw_only=True)
class _Node:
    """An entity of the walk."""

    label: str
    score: float
    via: str
    steps: int


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Entities by canonical name, and the stated triples between them, in the order they were met."""

    nodes: dict[str, _Node] = field(default_factory=dict)
    edges: dict[int, RelatedTriple] = field(default_factory=dict)


def phrases(query: str) -> list[str]:
    """The folded words of a query and the runs of two to four of them, longest first; no run of stop words only."""
    words = [folded for word in _WORD.findall(query)[:_MOST_WORDS] if (folded := fold(word))]
    runs = [
        words[start : start + length]
        for length in range(min(_LONGEST_PHRASE, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
    return list(dict.fromkeys(" ".join(run) for run in runs if not STOP_WORDS.issuperset(run)))


def expand(link: Link, view: View, request: ExpandRequest, texts: Mapping[str, StoredTexts]) -> Expansion:
    """What the graph adds to the hits. The same state of the store gives the same answer."""
    found = _Walk(nodes=_seeds(link, view, request))
    if not found.nodes:
        return Expansion()
    entities = tuple(node.label for node in found.nodes.values())
    _grow(link, view, request, found)
    triples = sorted(found.edges.values(), key=_triple_order)[: request.most_triples]
    related = _related_texts(link, view, request, found, texts)
    return _within_budget(entities, triples, related, request, len(found.edges) - len(triples))


def _seeds(link: Link, view: View, request: ExpandRequest) -> dict[str, _Node]:
    """Entities named in the query, then those named in the hits; the best first."""
    asked = phrases(request.query)
    aliases = canonical_names(link, view.tenant, asked)
    wanted = list(dict.fromkeys(aliases.get(name, name) for name in asked))
    named = mentions_of(link, view, spelled_out(link, view.tenant, wanted), fanout=request.fanout) if wanted else []
    rarity = _rarity(named)
    scored = [(mention.name, mention.label, rarity[mention.name]) for mention in named]
    if request.hits:
        by_kind: dict[str, list[str]] = {}
        for kind, key in request.hits:
            by_kind.setdefault(kind, []).append(key)
        place = {hit: number for number, hit in reversed(list(enumerate(request.hits)))}
        inside = mentioned_in(link, view, by_kind, limit=_MOST_SEEDS * 4)
        counted = (
            _rarity(mentions_of(link, view, {one.name for one in inside}, fanout=request.fanout)) if inside else {}
        )
        scored += [
            (one.name, one.label, counted[one.name] * _HIT_DECAY ** (1 + place[one.source.kind, one.source.key]))
            for one in inside
        ]
    known = canonical_names(link, view.tenant, [name for name, _, _ in scored])
    nodes: dict[str, _Node] = {}
    for name, label, score in sorted(scored, key=lambda item: (-item[2], item[0], item[1])):
        canonical = known.get(name, name)
        if len(nodes) < _MOST_SEEDS:
            nodes.setdefault(canonical, _Node(label=label, score=score, via=label, steps=0))
    return nodes


def _rarity(mentions: Iterable[Mention]) -> dict[str, float]:
    """How telling each name is: 1 for a name of one source, less the more sources have it."""
    counts: dict[str, int] = {}
    for mention in mentions:
        counts[mention.name] = counts.get(mention.name, 0) + 1
    return {name: 1 / (1 + math.log2(count)) for name, count in counts.items()}


def _grow(link: Link, view: View, request: ExpandRequest, found: _Walk) -> None:
    """Follow triples both ways from the entities there are, level by level."""
    hits = set(request.hits)
    frontier = list(found.nodes)
    for depth in range(1, request.depth + 1):
        names = spelled_out(link, view.tenant, frontier)
        near = edges_of(link, view, names, Direction.BOTH, fanout=request.fanout)
        edges = list({edge.row: edge for edge in near}.values())
        ends = canonical_names(link, view.tenant, [name for edge in edges for name in (edge.subject, edge.object)])
        reached: dict[str, _Node] = {}
        for edge in edges:
            subject, object = (ends.get(name, name) for name in (edge.subject, edge.object))
            for start, goal, label in ((subject, object, edge.triple.object), (object, subject, edge.triple.subject)):
                node = found.nodes.get(start)
                if node is None or node.steps != depth - 1:
                    continue
                score = node.score * edge.triple.weight
                _meet(found, edge, node, score, hits)
                if goal not in found.nodes:
                    new = _Node(label=label, score=score * _STEP_DECAY, via=node.via, steps=depth)
                    old = reached.get(goal)
                    reached[goal] = new if old is None or new.score > old.score else old
        ranked = sorted(reached.items(), key=lambda item: (-item[1].score, item[0]))
        frontier = [name for name, _ in ranked[: max(0, request.most_entities - len(found.nodes))]]
        found.nodes.update({name: reached[name] for name in frontier})
        if not frontier:
            return


def _meet(found: _Walk, edge: Edge, node: _Node, score: float, hits: set[tuple[str, str]]) -> None:
    triple = edge.triple
    if triple.predicate is Predicate.RELATED_TO or (triple.source.kind, triple.source.key) in hits:
        return
    old = found.edges.get(edge.row)
    if old is None or score > old.score:
        found.edges[edge.row] = RelatedTriple(triple=triple, via=node.via, steps=node.steps + 1, score=round(score, 6))


def _triple_order(item: RelatedTriple) -> tuple[object, ...]:
    triple = item.triple
    return (
        -item.score,
        item.steps,
        -to_micros(triple.recorded_at),
        fold(triple.subject),
        triple.predicate.value,
        fold(triple.object),
        triple.source.kind,
        triple.source.key,
    )


def _related_texts(
    link: Link, view: View, request: ExpandRequest, found: _Walk, texts: Mapping[str, StoredTexts]
) -> list[RelatedText]:
    """Texts that name entities of the walk: those with more, nearer and rarer names first."""
    names = spelled_out(link, view.tenant, found.nodes)
    mentions = mentions_of(link, view, names, fanout=request.fanout)
    rarity = _rarity(mentions)
    scores: dict[tuple[str, str], float] = {}
    best: dict[tuple[str, str], tuple[float, Mention]] = {}
    hits = set(request.hits)
    for mention in mentions:
        key = (mention.source.kind, mention.source.key)
        if key in hits or key[0] not in texts:
            continue
        score = found.nodes[names[mention.name]].score * rarity[mention.name]
        scores[key] = scores.get(key, 0.0) + score
        if key not in best or score > best[key][0]:
            best[key] = (score, mention)
    # A few more than asked for: what has expired or gone since is passed over.
    ordered = sorted(scores, key=lambda key: (-round(scores[key], 6), key))[: 2 * request.most_texts]
    contents = _contents(link, view, ordered, texts)
    related: list[RelatedText] = []
    for key in ordered:
        node = found.nodes[names[best[key][1].name]]
        if key in contents and len(related) < request.most_texts:
            source = best[key][1].source
            related.append(_text(source, contents[key], node, scores[key]))
    return related


def _text(source: Source, text: str, node: _Node, score: float) -> RelatedText:
    return RelatedText(source=source, text=text, via=node.via, steps=node.steps, score=round(min(1.0, score), 6))


def _contents(
    link: Link, view: View, keys: Sequence[tuple[str, str]], texts: Mapping[str, StoredTexts]
) -> dict[tuple[str, str], str]:
    now, scopes = to_micros(view.now), set(view.scopes)
    return {
        (kind, stored.key): stored.text
        for kind in sorted({kind for kind, _ in keys})
        for stored in texts[kind].read(link, view.tenant, [key for other, key in keys if other == kind])
        # Asked of the room itself: the graph may be a moment behind.
        if stored.scope in scopes and (stored.expires_at is None or stored.expires_at > now)
    }


def _within_budget(
    entities: tuple[str, ...],
    triples: Sequence[RelatedTriple],
    texts: Sequence[RelatedText],
    request: ExpandRequest,
    left_out: int,
) -> Expansion:
    """Whole items, the best first, until the budget is used up."""
    items: list[RelatedTriple | RelatedText] = [*triples, *texts]
    kept: list[RelatedTriple | RelatedText] = []
    tokens = 0
    for item in sorted(items, key=lambda item: -item.score):
        cost = request.count_tokens(item.text if isinstance(item, RelatedText) else sentence(item))
        if request.most_tokens and tokens + cost > request.most_tokens:
            left_out += 1
        else:
            kept.append(item)
            tokens += cost
    return Expansion(
        entities=entities,
        triples=tuple(item for item in kept if isinstance(item, RelatedTriple)),
        texts=tuple(item for item in kept if isinstance(item, RelatedText)),
        tokens=tokens,
        left_out=left_out,
    )


def sentence(item: RelatedTriple) -> str:
    """A triple as words: `Ann works at Acme`."""
    triple = item.triple
    return f"{triple.subject} {triple.predicate.value.replace('_', ' ')} {triple.object}"
