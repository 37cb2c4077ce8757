"""The verbs of context: retrieve what is known for a query, and assemble the prompt a model should see."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Unpack

from lamina.context.assemble import Assembled, Cut, assemble, memory_room
from lamina.context.budget import UNLIMITED
from lamina.context.judging import Items, Judging
from lamina.context.quarantine import Quarantine
from lamina.context.receipt import Prompt, Receipt, cut_item, injected_item, sections_of
from lamina.context.receipts import ReceiptStore
from lamina.context.retriever import ContextRetriever
from lamina.context.runtime import RuntimeContextAdapter
from lamina.context.settings import ContextSettings
from lamina.context.tools import Tool, ToolRegistryAdapter, describe
from lamina.context.turns import PreviousTurns
from lamina.context.types import (
    NOTES,
    TURN_LAYERS,
    ContextItem,
    ContextLayer,
    Place,
    RetrievalResult,
    Semantic,
    TextJudge,
)
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError, InvalidInputError, LaminaError, SessionNotFoundError
from lamina.index.ranking import RankingModel
from lamina.kernel.checks import is_whole
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.kernel.session_key import current_session_key
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.memory.types import IdentifierArguments, Identifiers
from lamina.observability.metrics import Metrics

if TYPE_CHECKING:
    from lamina.context.turn import Turn
    from lamina.session.service import SessionService
    from lamina.session.types import Message

_log = logging.getLogger("lamina.context")

_BESIDE: Final = (Semantic.MEMORY, Semantic.MESSAGE, Semantic.GRAPH, *NOTES)
_LIMITS: Final[Mapping[Place, str]] = {
    ContextLayer.REFLECTIONS: "max_reflections_in_context",
    ContextLayer.OBSERVATIONS: "max_observations_in_context",
    Semantic.MESSAGE: "recalled_messages",
}
_LARGEST_BUDGET = 2**53


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
    on_turn: Callable[[str, Receipt], None] | None = None
    """Told of every prompt that carries Conversation Memory, by tenant; must return at once."""
    sessions: "Callable[[], SessionService] | None" = None
    """Where `turn` takes the messages of a session from."""
    memory_token_budget: int = 4000
    """Tokens of Conversation Memory; 0 is unlimited."""
    message_token_budget: int = 8000
    """Tokens of the messages that `turn` puts after the prompt; 0 is unlimited."""
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

    def with_memory_token_budget(self, budget: int) -> "ContextService":
        """The same context with another budget for Conversation Memory; 0 is unlimited. Raises InvalidInputError."""
        return replace(self, memory_token_budget=_checked("memory_token_budget", budget))

    async def retrieve(
        self,
        query: str,
        layers: Sequence[ContextLayer | str] | str | None = None,
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
        layers: Sequence[ContextLayer | str] | str = TURN_LAYERS,
        budget_tokens: int | None = None,
        memory_budget_tokens: int | None = None,
        max_per_layer: int | None = None,
        session_key: str | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> Prompt:
        """The base prompt with everything that is known for the query, within the budget (0: unlimited), and a receipt.

        Conversation Memory has a budget of its own. The session is the one bound by `app.session`, unless
        `session_key` names one. Raises InvalidInputError; a layer, a quarantine or a store of receipts that fails is
        reported and fails nothing.
        """
        budget = _checked("budget_tokens", budget_tokens, self.settings.budget_tokens)
        memory_budget = _checked("memory_budget_tokens", memory_budget_tokens, self.memory_token_budget)
        if not isinstance(base, str):
            raise InvalidInputError("The base prompt must be a string.", operation="assemble")
        session = session_key if session_key is not None else current_session_key()
        started = self.clock.monotonic()
        with self.metrics.measure("context_assemble"):
            found = await self._retrieve(query, layers, _BESIDE, max_per_layer, session_key, identifiers)
            items, held = await self._judged(found.items)
            items, short = self._shortened(base, items, memory_budget)
            made = assemble(
                base,
                items,
                budget_tokens=budget,
                memory_budget_tokens=memory_budget,
                memory_first=self.settings.memory_first,
                count=self.count,
            )
            receipt = replace(
                self._receipt(found, made, [*held, *short], query, session, (budget, memory_budget), started),
                user_id=identifiers.get("user_id"),
            )
            if self.settings.store_receipts:
                await self._store(receipt)
        carried = tuple(placed.item for placed in made.placed)
        if self.on_injected is not None:
            self.on_injected(self.tenant, carried)
        if self.on_turn is not None and receipt.memory_tokens:
            self.on_turn(self.tenant, receipt)
        return Prompt(text=made.text, receipt=receipt, items=carried)

    async def turn(
        self,
        base: str,
        *,
        query: str | None = None,
        session_key: str | None = None,
        message_budget_tokens: int | None = None,
        memory_budget_tokens: int | None = None,
        budget_tokens: int | None = None,
        **identifiers: Unpack[IdentifierArguments],
    ) -> "Turn":
        """All that a model is sent for the session's next answer: `assemble`, then the newest messages of the session.

        Messages take at most `observational_memory.max_message_token_budget` tokens (0: unlimited). Without a query it
        is the user's latest message. Raises InvalidInputError, and MissingIdentifierError without a session.
        """
        from lamina.context.turn import Turn

        budget = _checked("message_budget_tokens", message_budget_tokens, self.message_token_budget)
        messages = await self._recent(session_key, budget)
        asked = next((one.content for one in reversed(messages) if one.role == "user" and one.content.strip()), "")
        prompt = await self.assemble(
            base,
            query=asked if query is None else query,
            session_key=session_key,
            budget_tokens=budget_tokens,
            memory_budget_tokens=memory_budget_tokens,
            **identifiers,
        )
        return Turn(prompt=prompt, messages=messages)

    async def _recent(self, session_key: str | None, budget: int) -> "tuple[Message, ...]":
        if self.sessions is None:
            raise ConfigurationError("This context has no sessions to take messages from.")
        sessions = self.sessions()
        if sessions.tenant != self.tenant:
            sessions = sessions.for_tenant(self.tenant)
        try:
            return await sessions.recent(session_key, budget_tokens=budget)
        except SessionNotFoundError:  # nothing was said in it yet
            return ()

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
        layers: Sequence[ContextLayer | str] | str | None,
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
        judging = Judging(settings=self.settings, quarantine=self.quarantine, metrics=self.metrics, judge=self.judge)
        return await judging.judged(items)

    def _shortened(self, base: str, items: Items, budget: int) -> tuple[Items, list[Cut]]:
        """The items with a note that is larger than the whole budget reduced to its most important lines."""
        place = next((place for place in NOTES if items.get(place)), None)
        if place is None or budget == UNLIMITED or items[place][0].note is None:
            return items, []
        from lamina.context.notes import shorten  # loaded with the first note

        found = shorten(items, memory_room(base, place, budget, self.count), self.count)
        if found is None:
            return items, []
        return found.items, [Cut(item=item, tokens=saved, budget="memory") for item, saved in found.left_out]

    def _receipt(
        self,
        found: RetrievalResult,
        made: Assembled,
        held: list[Cut],
        query: str,
        session: str | None,
        budgets: tuple[int, int],
        started: float,
    ) -> Receipt:
        limits = {place: _LIMITS.get(place, "max_per_layer") for place in self.retriever.limits}
        surplus = [Cut(item=item, tokens=0, budget=limits.get(item.layer, "max_per_layer")) for item in found.surplus]
        cut = (*made.cut, *surplus, *held)
        if cut:
            for budget_name in {one.budget for one in cut}:
                self.metrics.context_cut(budget_name, sum(one.budget == budget_name for one in cut))
        unchanged = self.turns.follow(self.tenant, session, made.text, made.pieces)
        before_memory = sum(tokens for _, tokens in made.pieces[: made.memory[0]])
        return Receipt(
            id=new_id(),
            at=self.clock.now(),
            session_key=session,
            query=query,
            keywords=found.keywords,
            budget_tokens=budgets[0],
            base_tokens=made.pieces[0][1],
            added_tokens=made.added_tokens,
            unchanged_tokens=unchanged,
            memory_budget_tokens=budgets[1],
            memory_tokens=made.memory_tokens,
            unchanged_memory_tokens=min(made.memory_tokens, max(0, unchanged - before_memory)),
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


def _checked(name: str, given: int | None, default: int = UNLIMITED) -> int:
    budget = default if given is None else given
    if not is_whole(budget, UNLIMITED, _LARGEST_BUDGET):
        raise InvalidInputError(
            f"{name} must be a whole number; 0 is unlimited.", operation="assemble", details={"field": name}
        )
    return budget


def shortened(query: str, longest: int) -> str:
    """The query, or the beginning and the end of a longer one: that is where people say what they want."""
    if len(query) <= longest:
        return query
    half = longest // 2
    return f"{query[: longest - half - 1]}\n{query[len(query) - half :]}" if half else query[:longest]
