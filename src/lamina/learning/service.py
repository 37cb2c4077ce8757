"""The verbs of learning: what agents, doors and other rooms call.

While `knowledge.enabled` is off, nothing is learned and nothing is found: `wrap` hands back the tool itself, searches
and listings are empty, and what asks for one learning or wants to change one is told how to switch it on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from lamina.database.link import Link
from lamina.database.slots import reset_slots, taken_slots
from lamina.embedding.cached import Vector
from lamina.errors import InvalidInputError, LearningNotFoundError
from lamina.kernel.checks import check_limit, check_name, check_query, check_share
from lamina.knowledge.types import Origin
from lamina.learning.checked import CheckedLearning, said
from lamina.learning.engine import LearningEngine
from lamina.learning.pattern import extract_pattern
from lamina.learning.proxy import name_of, watch_of, wrap
from lamina.learning.reading import (
    get_learning,
    known_learning,
    learning_hits,
    learning_search,
    list_learnings,
    statistics,
)
from lamina.learning.rows import identity_of, learning_from_row
from lamina.learning.saving import LearningSaver, slot_of
from lamina.learning.selection import Selection
from lamina.learning.trial_log import OUTCOME, outcome_details, read_trials
from lamina.learning.types import (
    CleanUpResult,
    EngineCounters,
    Learning,
    LearningCategory,
    LearningHit,
    LearningPage,
    LearningStatistics,
    SaveLearningResult,
    Trial,
)
from lamina.learning.wrapper import Watch
from lamina.learning.writing import Saved, change, choose, count_outcomes, remove

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningService(CheckedLearning):
    """What one tenant has learned. `settings` are those of knowledge, `rules` those of learning."""

    watcher: LearningEngine
    saver: LearningSaver

    def wrap(self, tool: T, *, name: str | None = None) -> T:
        """The tool, watched: same name, signature, schema, results and exceptions; its errors are learned from.

        A tool is a function (sync, async, a generator), another callable, an object or class with `run`, `execute` or
        the like. Raises InvalidInputError for anything else.
        """
        known = watch_of(tool)
        if not self.settings.enabled or (known is not None and known.belongs_to(self.watcher, self.tenant)):
            return tool
        chosen = name_of(getattr(tool, "__func__", tool)) if name is None else check_name("name", name)
        watch = self.watch(chosen)
        assert watch is not None
        watched: T = wrap(tool, watch)
        return watched

    def watch(self, tool: str) -> Watch | None:
        """Notes the calls of a tool that a framework runs and cannot be wrapped; None while knowledge is off."""
        if not self.settings.enabled:
            return None
        return Watch(self.watcher, tool=tool, tenant=self.tenant, session=self.session)

    async def save(
        self,
        fix: str,
        *,
        tool: str | None = None,
        error: str | BaseException | None = None,
        trigger: str | None = None,
        diagnosis: str | None = None,
        category: LearningCategory | str | None = None,
        tags: Sequence[str] | None = None,
        origin: Origin | str = Origin.AGENT,
        session_key: str | None = None,
    ) -> SaveLearningResult:
        """Keep a fix for an error of a tool, or for what `trigger` describes; at least one of them is needed.

        A known error keeps its history and gets the fix; another fix than before starts its record afresh. A new
        learning takes one of the session's slots. Secrets are hidden before anything is stored. Raises
        InvalidInputError, ContentTooLongError, RateLimitedError that names the limit, ConfigurationError while
        knowledge is off.
        """
        with self._verb("learning_save"):
            self._require_enabled()
            session = self._session(session_key)
            draft = self._draft(fix, tool, error, trigger, diagnosis, category, tags, origin, session)
            saved = await self.saver.save(draft, actor=self.actor, session=session)
        self._try(saved.learning, session)
        return SaveLearningResult(learning=saved.learning, outcome=saved.outcome)

    async def correct(
        self,
        trigger: str,
        fix: str,
        *,
        tool: str | None = None,
        error: str | BaseException | None = None,
        diagnosis: str | None = None,
        tags: Sequence[str] | None = None,
        session_key: str | None = None,
    ) -> SaveLearningResult:
        """Keep what the user corrected: trusted from the start (0.9), so it is a known solution at once.

        Raises what `save` raises.
        """
        return await self.save(
            fix,
            tool=tool,
            error=error,
            trigger=trigger,
            diagnosis=diagnosis,
            category=LearningCategory.USER_CORRECTION,
            tags=tags,
            origin=Origin.USER,
            session_key=session_key,
        )

    async def set_fix(
        self,
        id: str,
        fix: str,
        *,
        diagnosis: str | None = None,
        origin: Origin | str = Origin.AGENT,
        session_key: str | None = None,
    ) -> SaveLearningResult:
        """Give a learning a fix. Raises LearningNotFoundError and what `save` raises."""
        with self._verb("learning_fix"):
            self._require_enabled()
            session = self._session(session_key)
            draft = self._draft(fix, None, None, "fix", diagnosis, None, None, origin, session)
            known = self._id(id)

            def work(link: Link) -> Saved | None:
                saved = change(link, self.tenant, known, draft)
                if saved is not None:
                    details = {"outcome": saved.outcome, "fix": draft.fix, "origin": draft.origin.value}
                    self._report(link, "learning_fix", known, details, session)
                return saved

            saved = await self.database.write(work)
            if saved is None:
                raise _not_found(id)
            if saved.outcome == "changed":
                await self.saver.announce(self.tenant, saved, session)
        self._try(saved.learning, session)
        return SaveLearningResult(learning=saved.learning, outcome=saved.outcome)

    async def record_outcome(self, id: str, *, success: bool, session_key: str | None = None) -> Learning:
        """Count that a fix was tried and helped, or did not. Raises LearningNotFoundError.

        InvalidInputError for a learning without a fix. Wrapped tools do this by themselves.
        """
        with self._verb("learning_outcome"):
            known = await self.get(id)
            if known.fix is None:
                raise InvalidInputError("The learning has no fix that could have been tried.", details={"id": id})
            now, session = self.clock.now(), self._session(session_key)

            def work(link: Link) -> Learning | None:
                won = 1 if success else 0
                counted = count_outcomes(link, self.tenant, known.id, successes=won, failures=1 - won, now=now)
                if counted is not None:
                    self._report(link, OUTCOME, known.id, outcome_details(counted, won, 1 - won), session)
                return counted

            counted = await self.database.write(work)
            if counted is None:
                raise _not_found(id)
        if counted.tool is not None:
            self.watcher.trials.forget((self.tenant, session, counted.tool), counted.id)
        return counted

    async def fix_for(self, tool: str, error: str | BaseException) -> Learning | None:
        """The trusted fix for exactly this error pattern of this tool; None where there is none."""
        with self._verb("learning_fix_for"):
            if not self.settings.enabled:
                return None
            identity = identity_of(tool=self._tool(tool), trigger="", pattern=extract_pattern(said(error)))
            known = await self.database.read(lambda link: known_learning(link, self.tenant, identity))
            return known if known is not None and self.watcher.passes(known) else None

    async def get(self, id: str) -> Learning:
        """The learning of an id. Raises LearningNotFoundError."""
        with self._verb("learning_get"):
            self._require_enabled()
            found = await self.database.read(lambda link: get_learning(link, self.tenant, self._id(id)))
            if found is None:
                raise _not_found(id)
            return found

    async def history(self, id: str) -> tuple[Trial, ...]:
        """How confidence in its fix moved, oldest first, as the audit log tells. Raises LearningNotFoundError."""
        with self._verb("learning_history"):
            known = await self.get(id)
            return await self.database.read(lambda link: read_trials(link, self.tenant, known.id))

    async def list(
        self,
        *,
        tool: str | None = None,
        category: LearningCategory | str | None = None,
        min_confidence: float | None = None,
        max_confidence: float | None = None,
        not_seen_since: datetime | None = None,
        has_fix: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> LearningPage:
        """One page of what was learned, newest first. Raises InvalidInputError, InvalidCursorError."""
        with self._verb("learning_list"):
            chosen = self._selection(tool, category, min_confidence, max_confidence, not_seen_since, has_fix)
            size = check_limit(self.rules.list_limit if limit is None else limit, most=self.rules.max_limit)
            if not self.settings.enabled:
                return LearningPage(learnings=(), next_cursor=None, total_count=0)
            return await self.database.read(
                lambda link: list_learnings(link, self.tenant, chosen, limit=size, cursor=cursor)
            )

    async def search(
        self,
        query: str,
        *,
        tool: str | None = None,
        category: LearningCategory | str | None = None,
        min_confidence: float | None = None,
        unsolved: bool = False,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
    ) -> tuple[LearningHit, ...]:
        """Known solutions that fit the query, best first: learnings with a fix of enough confidence.

        With `unsolved` also those without a fix or below the confidence. `vector` spares embedding a query that is
        searched in several places. Raises QueryTooLongError, InvalidInputError.
        """
        rules = self.rules
        with self._verb("learning_search"):
            text = check_query(query, longest=rules.max_query_length)
            size = check_limit(rules.search_limit if limit is None else limit, most=rules.max_limit)
            least = rules.threshold if threshold is None else check_share("threshold", threshold)
            trusted = min_confidence if unsolved or min_confidence is not None else rules.confidence_threshold
            chosen = self._selection(tool, category, trusted, None, None, None if unsolved else True)
            if not self.settings.enabled:
                return ()
            asked = await self._query(text, vector, "learning_search")
            search = learning_search(
                self.engine,
                self.tenant,
                asked,
                selection=chosen,
                limit=size,
                threshold=least,
                now=self.clock.now(),
            )
            return learning_hits(await self._found(search, asked))

    async def delete(self, id: str, *, session_key: str | None = None) -> None:
        """Forget a learning with its index rows. Raises LearningNotFoundError."""
        with self._verb("learning_delete"):
            self._require_enabled()
            known, session = self._id(id), self._session(session_key)
            if not await self._remove(Selection(ids=(known,)), "learning_delete", known, {}, session):
                raise _not_found(id)

    async def _remove(
        self, chosen: Selection, action: str, target: str, details: Mapping[str, object], session: str | None
    ) -> tuple[Learning, ...]:
        def work(link: Link) -> tuple[Learning, ...]:
            gone = tuple(remove(link, self.tenant, chosen.conditions(), self.saver.on_removed))
            if gone or action == "learning_clean_up":
                self._report(link, action, target, {**details, "removed": len(gone)}, session)
            return gone

        return await self.database.write(work)

    async def clean_up(
        self,
        *,
        tool: str | None = None,
        category: LearningCategory | str | None = None,
        max_confidence: float | None = None,
        not_seen_since: datetime | None = None,
        has_fix: bool | None = None,
        dry_run: bool = True,
        session_key: str | None = None,
    ) -> CleanUpResult:
        """Remove the learnings that meet every criterion; a dry run reports what a real one would remove now.

        Raises InvalidInputError without any criterion, dry or not.
        """
        with self._verb("learning_clean_up"):
            self._require_enabled()
            chosen = self._selection(tool, category, None, max_confidence, not_seen_since, has_fix)
            if chosen.is_everything:
                raise InvalidInputError(
                    "A clean-up needs a criterion: tool, category, max_confidence, not_seen_since or has_fix."
                )
            if not dry_run:
                session, criteria = self._session(session_key), {"criteria": chosen.description()}
                gone = await self._remove(chosen, "learning_clean_up", "learning", criteria, session)
                return CleanUpResult(learnings=gone, dry_run=False)
            statement = choose(chosen.conditions(), self.tenant)
            found = await self.database.read(lambda link: link.execute(statement).all())
            return CleanUpResult(learnings=tuple(map(learning_from_row, reversed(found))), dry_run=True)

    async def statistics(self) -> LearningStatistics:
        """What was learned, in numbers."""
        with self._verb("learning_statistics"):
            self._require_enabled()
            threshold = self.rules.confidence_threshold
            return await self.database.read(lambda link: statistics(link, self.tenant, threshold=threshold))

    @property
    def counters(self) -> EngineCounters:
        """What the engine did, dropped and missed in this process, over all tenants."""
        return self.watcher.counters

    async def drain(self) -> None:
        """Wait until every call of a wrapped tool that has ended is taken note of."""
        await self.watcher.drain()

    async def saves_taken(self, session_key: str) -> int:
        """How many of the session's slots for new learnings are taken."""
        slot = slot_of(self.tenant, self._session(session_key))
        return 0 if slot is None else await self.database.read(lambda link: taken_slots(link, slot))

    async def reset_saves(self, session_key: str) -> None:
        """Free every slot of a session."""
        slot = slot_of(self.tenant, self._session(session_key))
        if slot is not None:
            await self.database.write(lambda link: reset_slots(link, slot))

    def _try(self, one: Learning, session: str | None) -> None:
        """The tool's next call in this session tells whether the fix that was just saved helps."""
        if one.tool is not None:
            self.watcher.trials.offered((self.tenant, session, one.tool), one.id, step=self.watcher.step())


def _not_found(id: str) -> LearningNotFoundError:
    return LearningNotFoundError(details={"id": id})
