"""One skill, laid open: what it does, what the check says, deciding on it, and trying it in the sandbox."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui.element import Element

from lamina.access.types import Right
from lamina.errors import InvalidInputError
from lamina.page.entry import facts, json_text, moment, text_area
from lamina.page.pieces import action, badge, tag, times
from lamina.page.shared_sheet import SharedSheet
from lamina.page.sheet import Changed, Version, draw_versions
from lamina.page.shell import Frame
from lamina.page.text import code, one_line, stored
from lamina.skill.check import check_script
from lamina.skill.types import Skill, SkillOrigin, SkillStatus, SkillType, SkillVersion

TONES = {SkillStatus.ACTIVE: "good", SkillStatus.DRAFT: "warn", SkillStatus.DISABLED: "bad"}
STATES = {SkillStatus.ACTIVE: "active", SkillStatus.DRAFT: "waits for approval", SkillStatus.DISABLED: "disabled"}


class SkillSheet(SharedSheet):
    """A skill and everything that decides whether it may run."""

    def __init__(self, frame: Frame, skill: Skill, *, changed: Changed) -> None:
        super().__init__(frame, changed=changed)
        self._skill = skill
        self._history: tuple[SkillVersion, ...] = ()

    @property
    def title(self) -> str:
        """The name."""
        return one_line(self._skill.name, 80)

    async def load(self) -> None:
        """Read the skill and its versions. Raises SkillNotFoundError."""
        skills = (await self.enter()).rooms.skills
        self._skill = await skills.get(self._skill.name)
        self._history = await skills.history(self._skill.name)

    def draw(self) -> None:
        """Draw what it does, the check, and what can be done with it."""
        skill = self._skill
        stored(skill.description, classes="main-text")
        with tag("div", classes="row"):
            badge(STATES[skill.status], tone=TONES[skill.status])
            badge(skill.type.value)
            if self.frame.may(Right.ADMIN, whole_tenant=True):
                if skill.status is not SkillStatus.ACTIVE:
                    action(f"Approve version {skill.version}", partial(self._decide, True), kind="primary")
                if skill.status is not SkillStatus.DISABLED:
                    action("Reject" if skill.status is SkillStatus.DRAFT else "Disable", partial(self._decide, False))
        code(source_of(skill.type, skill.definition))
        if skill.type is SkillType.SCRIPT:
            draw_check(str(skill.definition.get("script", "")))
        if self.may_change and skill.status is SkillStatus.ACTIVE:
            self._draw_trial()
        used = f"{times(skill.use_count)}, {skill.success_count:,} with success"
        facts(
            [
                ("Offered as", skill.tool_name),
                ("Used", used if skill.use_count else "never"),
                ("Last used", None if skill.last_used_at is None else partial(moment, skill.last_used_at)),
                ("Written by", f"{skill.created_by} ({skill.origin})"),
                ("Decided by", skill.decided_by),
                ("Parameters", (lambda: code(json_text(dict(skill.parameters)))) if skill.parameters else None),
            ]
        )
        versions = [
            Version(
                number=one.version,
                text=f"{one.description}\n\n{source_of(one.type, one.definition)}",
                at=one.saved_at,
                told=f"by {one.created_by}",
            )
            for one in self._history
        ]
        draw_versions(versions)

    def draw_form(self, form: Element) -> None:
        """Draw the description and the definition; a change makes a version that waits for approval."""
        skill = self._skill
        description = text_area("What it does", skill.description)
        source = text_area("How", source_of(skill.type, skill.definition)).classes("mono")

        async def save() -> None:
            visitor = await self.enter(to_change=Right.WRITE)
            skills = visitor.rooms.skills.acting_as(visitor.grant.actor)
            changed = await skills.update(
                skill.name,
                description=description.value,
                definition=definition_of(skill.type, source.value),
                origin=SkillOrigin.USER,
            )
            await self.saved(f"Version {changed.version}: {STATES[changed.status]}.")

        form.on("submit.prevent", save, [])

    def consequences(self) -> Sequence[str]:
        """What goes with it."""
        return [
            f"“{one_line(self._skill.description, 120)}”",
            f"its versions, {len(self._history)} in all, and how often it was used",
            f"the tool {self._skill.tool_name}, which no agent gets any more",
        ]

    async def delete(self) -> None:
        """Delete it."""
        visitor = await self.enter(to_change=Right.ADMIN)
        await visitor.rooms.skills.acting_as(visitor.grant.actor).delete(self._skill.name)

    async def _decide(self, approved: bool) -> None:
        visitor = await self.enter(to_change=Right.ADMIN)
        skills = visitor.rooms.skills.acting_as(visitor.grant.actor)
        decide = skills.approve if approved else skills.reject
        decided = await decide(self._skill.name, by=visitor.grant.actor, version=self._skill.version)
        await self.saved(f"{decided.name} is {STATES[decided.status]}.")

    def _draw_trial(self) -> None:
        tag("h3", "Try it")
        with tag("form") as form:
            given = text_area("Arguments, as JSON", "{}").classes("mono")
            with tag("div", classes="row"):
                action("Run", lambda: None, kind="primary").props("type=submit")
                tag("span", "Scripts run in the sandbox: no network, no files of this machine.", classes="note")
        output = tag("div", aria_live="polite")

        async def run() -> None:
            visitor = await self.enter(to_change=Right.WRITE)
            output.clear()
            done = await visitor.rooms.skills.acting_as(visitor.grant.actor).run(
                self._skill.name, parsed_object(given.value, "arguments")
            )
            with output:
                for step in done.steps:
                    tag("p", f"{step.step}. {one_line(step.tool, 80)}", classes="note")
                    code(shown(step.result))
                if not done.steps:
                    code(shown(done.output) or "It said nothing.")

        form.on("submit.prevent", run, [])


def draw_check(script: str) -> None:
    """What the check of scripts says about one."""
    verdict = check_script(script)
    if verdict.allowed:
        badge("the check found nothing against it", tone="good")
        return
    badge("the check refuses it", tone="bad")
    with tag("ul"):
        for reason in verdict.reasons:
            tag("li", one_line(str(reason), 200))


def source_of(type: SkillType, definition: Any) -> str:
    """What a skill does, as it is written: the script, the template, or the steps."""
    written = definition.get(type.value)
    return written if isinstance(written, str) else json_text(dict(definition))


def definition_of(type: SkillType, source: str) -> dict[str, object]:
    """The definition that `source_of` shows. Raises InvalidInputError for steps that are no JSON."""
    return parsed_object(source, "definition") if type is SkillType.COMPOSITE else {type.value: source}


def parsed_object(text: str, name: str) -> dict[str, object]:
    """A JSON object that somebody typed. Raises InvalidInputError."""
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidInputError(f"The {name} are not JSON: {error}", details={"field": name}) from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"The {name} must be a JSON object.", details={"field": name})
    return value


def shown(value: object) -> str:
    """What a run gave, as text."""
    return value if isinstance(value, str) else json_text(value)
