"""The verbs of context: retrieve what is known for a query, and assemble the prompt a model should see."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Unpack

from lamina.context.assemble import Assembled, Cut, assemble
from lamina.context.budget import UNLIMITED
from lamina.context.quarantine import Quarantine, State, digest
from lamina.context.receipt import Prompt, Receipt, cut_item, injected_item, sections_of
from lamina.context.receipts import ReceiptStore
from lamina.context.retriever import ContextRetriever
from lamina.context.runtime import RuntimeContextAdapter
from lamina.context.settings import ContextSettings
from lamina.context.suspicion import findings
from lamina.context.tools import Tool, ToolRegistryAdapter, describe
from lamina.context.turns import PreviousTurns
from lamina.context.types import (
    TURN_LAYERS,
    ContextItem,
    ContextLayer,
    Place,
    RetrievalResult,
    Semantic,
    TextJudge,
)
from lamina.embedding.types import Embedder
from lamina.errors import InvalidInputError, LaminaError
from lamina.index.ranking import RankingModel
from lamina.kernel.checks import is_whole
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.kernel.session_key import current_session_key
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.memory.types import IdentifierArguments, Identifiers
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.context")

_BESIDE: Final = (Semantic.MEMORY, Semantic.GRAPH, ContextLayer.REFLECTIONS, ContextLayer.OBSERVATIONS)
CLASSIFIED: Final = ("classifier",)
"""The finding of a text that only the classifier takes for instructions."""
_LARGEST_BUDGET = 2**53
Items = Mapping[Place, Sequence[ContextItem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextService:
    """What one tenant's models should see."""

    retriever: ContextRetriever
    settings: ContextSettings
    quarantine: Quarantine
    receipts: ReceiptStore
    clock: Clock
    metrics: Metrics
    runtime: RuntimeContextAdapter
    embedder: Embedder | None = None
    """Ranks tools by meaning too; without one words alone decide."""
    ranking: RankingModel = field(default_factory=RankingModel)
    count: TokenCounter = estimate_tokens
    judge: TextJudge | None = None
    """Asked about texts of low trust that no pattern found suspicious."""
    on_injected: Callable[[str, Sequence[ContextItem]], None] | None = None
    """Told what a prompt carries, by tenant; must return at once."""
    turns: PreviousTurns = field(default_factory=PreviousTurns)

    @property
    def tenant(self) -> str:
        """Whose context this is."""
        return self.retriever.tenant

    def for_tenant(self, tenant: str) -> "ContextService":
        """The same context for another tenant; tools are not taken along."""
        runtime = self.runtime if self.retriever.tools is None else self.runtime.with_tools(0)
        shown = runtime if self.retriever.runtime is self.runtime else self.retriever.runtime
        return replace(
            self,
            retriever=replace(self.retriever, tenant=tenant, tools=None, runtime=shown),
            quarantine=replace(self.quarantine, tenant=tenant),
            runtime=runtime,
        )

    def with_tools(self, tools: Iterable[Tool]) -> "ContextService":
        """The same context with these tools to offer: descriptors, or functions with a name and a docstring."""
        described = [describe(tool) for tool in tools]
        registry = ToolRegistryAdapter(
            described, embedder=self.embedder, ranking=self.ranking, threshold=self.settings.tool_threshold
        )
        runtime = self.runtime.with_tools(len(registry.list_tools()))
        retriever = self.retriever.with_tool_registry(registry).with_runtime_context(runtime)
        return replace(self, retriever=retriever, runtime=runtime)

    def with_counter(self, count: TokenCounter) -> "ContextService":
        """The same context with the model's own tokenizer to keep its budget by."""
        return replace(self, count=count)

    async def retrieve(
        self,
        query: str,
        layers: Sequence[ContextLayer | str] | None = None,
        *,
        max_per_layer: int | None = None,
        session_key: str | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> RetrievalResult:
        """What the named layers have for the query, or User Knowledge, Skill Patterns, External Knowledge and Agent
        Learnings when none is named. A failing layer is left out and reported. Raises InvalidInputError.
        """
        with self.metrics.measure("context_retrieve"):
            return await self._retrieve(query, layers, (), max_per_layer, session_key, identifiers)

    async def assemble(
        self,
        base: str,
        *,
        query: str,
        layers: Sequence[ContextLayer | str] = TURN_LAYERS,
        budget_tokens: int | None = None,
        max_per_layer: int | None = None,
        session_key: str | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> Prompt:
        """The base prompt with everything that is known for the query, within the budget (0: unlimited), and a receipt.

        The session is the one bound by `app.session`, unless `session_key` names one. Raises InvalidInputError; a
        layer, a quarantine or a store of receipts that fails is reported and fails nothing.
        """
        budget = self.settings.budget_tokens if budget_tokens is None else budget_tokens
        if not is_whole(budget, UNLIMITED, _LARGEST_BUDGET):
            raise InvalidInputError("budget_tokens must be a whole number; 0 is unlimited.", operation="assemble")
        if not isinstance(base, str):
            raise InvalidInputError("The base prompt must be a string.", operation="assemble")
        session = session_key if session_key is not None else current_session_key()
        started = self.clock.monotonic()
        with self.metrics.measure("context_assemble"):
            found = await self._retrieve(query, layers, _BESIDE, max_per_layer, session_key, identifiers)
            items, held = await self._judged(found.items)
            made = assemble(base, items, budget_tokens=budget, count=self.count)
            receipt = self._receipt(found, made, held, query, session, budget, started)
            if self.settings.store_receipts:
                await self._store(receipt)
        carried = tuple(placed.item for placed in made.placed)
        if self.on_injected is not None:
            self.on_injected(self.tenant, carried)
        return Prompt(text=made.text, receipt=receipt, items=carried)

    async def list_receipts(self, *, session_key: str | None = None, limit: int = 20) -> tuple[Receipt, ...]:
        """The newest stored receipts, of one session where it is named. Raises InvalidInputError."""
        return await self.receipts.list(self.tenant, session_key=session_key, limit=limit)

    async def get_receipt(self, id: str) -> Receipt:
        """A stored receipt, by its id or the beginning of it. Raises ReceiptNotFoundError."""
        return await self.receipts.get(self.tenant, id)

    async def store_receipt(self, receipt: Receipt) -> None:
        """Store a receipt, whatever `context.store_receipts` says. Raises ProviderError."""
        await self.receipts.add(self.tenant, receipt)

    async def _retrieve(
        self,
        query: str,
        layers: Sequence[ContextLayer | str] | None,
        also: Sequence[Place],
        max_per_layer: int | None,
        session_key: str | None,
        identifiers: IdentifierArguments,
    ) -> RetrievalResult:
        if not isinstance(query, str):
            raise InvalidInputError("The query must be a string.", details={"field": "query"})
        session = session_key if session_key is not None else current_session_key()
        named: dict[str, Any] = {name: value for name, value in identifiers.items() if value is not None}
        if session is not None:
            named.setdefault("session_id", session)
        return await self.retriever.retrieve(
            shortened(query, self.settings.max_query_length),
            layers,
            max_per_layer=max_per_layer,
            session_key=session_key,
            identifiers=Identifiers(**named),
            also=also,
        )

    async def _judged(self, items: Items) -> tuple[Items, list[Cut]]:
        """The items with suspicious ones marked, and those that are held back."""
        if self.settings.suspicious == "ignore":
            return items, []
        every = [item for items_of in items.values() for item in items_of]
        reasons = [findings(f"{item.key}\n{item.content}\n{item.location or ''}", item.origin) for item in every]
        if self.judge is not None:
            reasons = await self._second_opinion(self.judge, every, reasons)
        marked = {
            id(item): replace(item, suspicious=found) for item, found in zip(every, reasons, strict=True) if found
        }
        if not marked:
            return items, []
        states = await self._states(list(marked.values()))
        kept: dict[Place, list[ContextItem]] = {}
        held: list[Cut] = []
        for item in every:
            suspect = marked.get(id(item), item)
            state = states.get(digest(suspect)) if suspect.suspicious else State.RELEASED
            if state is State.RELEASED:
                kept.setdefault(item.layer, []).append(item)
            elif state is None and not self._holds(suspect):
                kept.setdefault(item.layer, []).append(suspect)
            else:
                held.append(Cut(item=suspect, tokens=0, budget="quarantine"))
        return kept, held

    def _holds(self, suspect: ContextItem) -> bool:
        """Whether nobody's decision is needed to hold a text back; what only the classifier says never is enough."""
        return self.settings.suspicious == "quarantine" and suspect.suspicious != CLASSIFIED

    async def _second_opinion(
        self, judge: TextJudge, items: Sequence[ContextItem], reasons: list[tuple[str, ...]]
    ) -> list[tuple[str, ...]]:
        asked = [number for number, item in enumerate(items) if item.origin.trust == "low" and not reasons[number]]
        if not asked:
            return reasons
        try:
            answers = await judge.judge([items[number].content for number in asked])
        except Exception as error:  # noqa: BLE001 -- isolation: a second opinion that fails leaves the first one
            self.metrics.operation_failed("context_classifier", type(error).__name__)
            _log.warning("the classifier failed: %s", type(error).__name__)
            return reasons
        seen = {number for number, answer in zip(asked, answers, strict=True) if answer}
        return [CLASSIFIED if number in seen else found for number, found in enumerate(reasons)]

    async def _states(self, suspects: list[ContextItem]) -> dict[bytes, State]:
        """What was decided about suspects; with `quarantine`, those nobody decided about are held from now on."""
        try:
            states = await self.quarantine.states(suspects)
            new = [item for item in suspects if digest(item) not in states and self._holds(item)]
            if new:
                await self.quarantine.hold(new)
        except LaminaError as error:
            # What cannot be looked up is treated as undecided: marked, or held back where that is the rule.
            self.metrics.operation_failed("quarantine", error.code)
            _log.warning("the quarantine could not be read: %s", error.code)
            return {}
        return states

    def _receipt(
        self,
        found: RetrievalResult,
        made: Assembled,
        held: list[Cut],
        query: str,
        session: str | None,
        budget: int,
        started: float,
    ) -> Receipt:
        surplus = [Cut(item=item, tokens=0, budget="max_per_layer") for item in found.surplus]
        cut = (*made.cut, *surplus, *held)
        if cut:
            for budget_name in {one.budget for one in cut}:
                self.metrics.context_cut(budget_name, sum(one.budget == budget_name for one in cut))
        return Receipt(
            id=new_id(),
            at=self.clock.now(),
            session_key=session,
            query=query,
            keywords=found.keywords,
            budget_tokens=budget,
            base_tokens=made.pieces[0][1],
            added_tokens=made.added_tokens,
            unchanged_tokens=self.turns.follow(self.tenant, session, made.text, made.pieces),
            sections=sections_of(made),
            injected=tuple(map(injected_item, made.placed)),
            cut=tuple(map(cut_item, cut)),
            failures=found.failures,
            elapsed_ms=round((self.clock.monotonic() - started) * 1000, 3),
        )

    async def _store(self, receipt: Receipt) -> None:
        try:
            await self.receipts.add(self.tenant, receipt)
        except LaminaError as error:
            self.metrics.operation_failed("context_receipt", error.code)
            _log.warning("a receipt was not stored: %s", error.code)


def shortened(query: str, longest: int) -> str:
    """The query, or the beginning and the end of a longer one: that is where people say what they want."""
    if len(query) <= longest:
        return query
    half = longest // 2
    return f"{query[: longest - half - 1]}\n{query[len(query) - half :]}" if half else query[:longest]
