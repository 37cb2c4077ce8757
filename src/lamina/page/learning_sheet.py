"""One learning, laid open: when it applies, what helps, and how far that can be trusted by now."""

from collections.abc import Sequence
from functools import partial

from nicegui.element import Element

from lamina.access.types import Right
from lamina.knowledge.types import Origin
from lamina.learning.types import Learning, Trial
from lamina.page.entry import facts, moment, tags_of, text_area
from lamina.page.pieces import action, bar, tag, times
from lamina.page.shared_sheet import SharedSheet
from lamina.page.sheet import Changed
from lamina.page.shell import Frame
from lamina.page.text import code, one_line, stored


class LearningSheet(SharedSheet):
    """What was learned about one error, or from one correction."""

    def __init__(self, frame: Frame, learning: Learning, *, changed: Changed) -> None:
        super().__init__(frame, changed=changed)
        self._learning = learning
        self._trials: tuple[Trial, ...] = ()

    @property
    def title(self) -> str:
        """The tool, or when it applies."""
        return one_line(self._learning.tool or self._learning.trigger, 80)

    async def load(self) -> None:
        """Read the learning and what became of its fix. Raises LearningNotFoundError."""
        learning = (await self.enter()).rooms.learning
        self._learning = await learning.get(self._learning.id)
        self._trials = await learning.history(self._learning.id)

    def draw(self) -> None:
        """Draw the fix, how far it is trusted, and the facts."""
        one = self._learning
        tag("h3", "What helps")
        stored(one.fix or "Nobody knows yet.", classes="main-text")
        tag("h3", "How far it can be trusted")
        draw_confidence(one, self._trials)
        if one.fix is not None and self.may_change:
            with tag("div", classes="row"):
                action("It helped", partial(self._count, True))
                action("It did not", partial(self._count, False))
        facts(
            [
                ("Applies", one.trigger),
                ("Diagnosis", one.diagnosis),
                ("Category", one.category.value),
                ("Tags", (lambda: tags_of(one.tags)) if one.tags else None),
                ("Given by", one.origin.value),
                ("Seen", times(one.occurrence_count)),
                ("Last seen", partial(moment, one.last_seen_at)),
                ("First seen", partial(moment, one.created_at)),
            ]
        )
        if one.pattern is not None:
            tag("h3", "The error, with what changes from time to time left out")
            code(one.pattern)

    def draw_form(self, form: Element) -> None:
        """Draw the fix and the diagnosis, to be changed."""
        one = self._learning
        fix = text_area("What helps", one.fix or "")
        diagnosis = text_area("What the trouble is", one.diagnosis or "")

        async def save() -> None:
            visitor = await self.enter(to_change=Right.WRITE)
            learning = visitor.rooms.learning.acting_as(visitor.grant.actor)
            await learning.set_fix(one.id, fix.value, diagnosis=diagnosis.value or None, origin=Origin.USER)
            await self.saved("Saved. The new fix is trusted because a person gave it.")

        form.on("submit.prevent", save, [])

    def consequences(self) -> Sequence[str]:
        """What goes with it."""
        one = self._learning
        return [
            f"“{one_line(one.fix or one.trigger, 120)}”",
            f"that it was seen {times(one.occurrence_count)}, and what became of its fix",
            "its place in the index, and what the graph read from it",
        ]

    async def delete(self) -> None:
        """Forget it."""
        visitor = await self.enter(to_change=Right.WRITE)
        await visitor.rooms.learning.acting_as(visitor.grant.actor).delete(self._learning.id)

    async def _count(self, success: bool) -> None:
        visitor = await self.enter(to_change=Right.WRITE)
        await visitor.rooms.learning.acting_as(visitor.grant.actor).record_outcome(self._learning.id, success=success)
        await self.saved("Counted.")


def draw_confidence(one: Learning, trials: Sequence[Trial]) -> None:
    """How far a fix is trusted now, and every time it was tried on the way there."""
    tried = f"helped {times(one.success_count)}, did not {times(one.failure_count)}"
    with tag("div", classes="confidence"):
        tag("span", f"{one.confidence:.2f}", classes="score-value")
        bar(one.confidence, label=f"confidence {one.confidence:.2f}", tone=tone_of(one))
        tag("span", tried if one.success_count or one.failure_count else "never tried", classes="note")
    if not trials:
        return
    told = ", ".join(f"{trial.at:%Y-%m-%d} {trial.confidence:.2f}" for trial in trials)
    with tag("div", classes="trials", role="img", aria_label=f"Confidence over time: {told}"):
        for trial in trials:
            helped = trial.successes >= trial.failures
            when = f"{trial.at:%Y-%m-%d %H:%M}: {'it helped' if helped else 'it did not help'}, {trial.confidence:.2f}"
            column = tag("div", classes=f"trial {'good' if helped else 'bad'}", title=when)
            column.style(f"height:{trial.confidence * 100:.1f}%")
    with tag("div", classes="columns-ends"):
        tag("span", f"{trials[0].at:%Y-%m-%d}")
        tag("span", f"{trials[-1].at:%Y-%m-%d}")


def tone_of(one: Learning) -> str:
    """How a confidence is coloured: plain where it is trusted, a warning where it is not."""
    return "" if one.fix is not None and one.confidence >= 0.7 else "warn"
