"""What makes a valid skill: the same checks for what is created, changed and imported."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from lamina.errors import InvalidInputError, ScriptRefusedError
from lamina.kernel.checks import check_choice, check_json, check_text, refuse
from lamina.kernel.redact import redact, redact_value
from lamina.kernel.secret_places import secret_line, secret_path
from lamina.skill.check import check_script
from lamina.skill.composite import check_steps, refuse_secrets
from lamina.skill.schema import check_schema, parameter_names, text_schema
from lamina.skill.template import check_template
from lamina.skill.types import Draft, SkillType

LONGEST_DESCRIPTION = 2_000
LARGEST_DEFINITION = 262_144
LARGEST_METADATA = 16_384
_SHOWN_REASONS = 10

# With "skill_" in front it is still a tool name that every provider takes, and no path can be built from it.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,57}")
_CONTENT = {SkillType.COMPOSITE: "steps", SkillType.SCRIPT: "script", SkillType.TEMPLATE: "template"}

T = TypeVar("T")


def check_skill_name(value: object) -> str:
    """A name of letters, digits, hyphens and underscores. Raises InvalidInputError for anything else."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        refuse(
            "A skill's name has 1 to 58 letters, digits, hyphens and underscores, and starts with a letter or a digit.",
            None,
            field="name",
        )
    return value


def check_draft(
    *,
    name: object,
    description: object,
    type: SkillType | str,
    definition: object,
    parameters: Mapping[str, object] | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Draft:
    """Everything checked at once: an error names every problem there is.

    A template without a schema takes a text for each of its variables. Raises InvalidInputError, ScriptRefusedError
    when nothing but the script is wrong.
    """
    problems = _Problems()
    known = problems.of(lambda: check_skill_name(name))
    told = problems.of(
        lambda: redact(check_text("description", description, longest=LONGEST_DESCRIPTION), emails=False)
    )
    kind = problems.of(lambda: check_choice("type", type, SkillType))
    schema = problems.of(lambda: _without_secrets(check_schema(parameters)))
    kept = problems.of(lambda: _hidden(check_json("metadata", metadata, max_size=LARGEST_METADATA)))
    content = problems.of(lambda: _content(kind, definition)) if kind is not None else None
    if content is not None and kind is not None and schema is not None:
        declared, given = schema, parameters is not None
        schema = problems.of(lambda: _check_content(kind, content, declared, given=given))
    problems.raise_any()
    assert known is not None
    assert told is not None
    assert kind is not None
    assert content is not None
    assert schema is not None
    return Draft(
        name=known, description=told, type=kind, definition=content, parameters=schema, metadata=dict(kept or {})
    )


def require_harmless(script: str) -> None:
    """Raise ScriptRefusedError with the reasons when the check of scripts refuses one."""
    verdict = check_script(script)
    if not verdict.allowed:
        shown = [str(reason) for reason in verdict.reasons[:_SHOWN_REASONS]]
        raise ScriptRefusedError(f"The script is refused: {'; '.join(shown)}", details={"reasons": shown})


def _refuse_secret_in_script(script: str) -> None:
    """With a mark in its place a secret would make another script of it, so it has to stay out."""
    if (line := secret_line(script)) is not None:
        reason = f"line {line} holds a secret; take it as a parameter instead"
        raise ScriptRefusedError(f"The script is refused: {reason}.", details={"reasons": [reason], "line": line})


def _without_secrets(schema: dict[str, object]) -> dict[str, object]:
    if (path := secret_path(schema)) is not None:
        refuse(f"The parameters hold a secret in {path}; callers pass it.", None, field="parameters", path=path)
    return schema


def _hidden(metadata: Mapping[str, object]) -> dict[str, object]:
    shown = redact_value(metadata, emails=False)
    assert isinstance(shown, dict)
    return shown


def _content(kind: SkillType, definition: object) -> dict[str, object]:
    plain = check_json("definition", definition, max_size=LARGEST_DEFINITION)
    field = _CONTENT[kind]
    if set(plain) != {field}:
        refuse(f"The definition of a {kind.value} holds {field} and nothing else.", None, field="definition")
    if kind is not SkillType.COMPOSITE:
        check_text(field, plain[field], longest=LARGEST_DEFINITION)
    return dict(plain)


def _check_content(
    kind: SkillType, content: Mapping[str, object], schema: dict[str, object], *, given: bool
) -> dict[str, object]:
    """The schema that goes with the content."""
    declared = parameter_names(schema)
    if kind is SkillType.COMPOSITE:
        refuse_secrets(check_steps(content["steps"], declared))
    elif kind is SkillType.SCRIPT:
        if len({name.upper() for name in declared}) < len(declared):
            refuse("A script's parameters must differ in more than upper and lower case.", None, field="parameters")
        _refuse_secret_in_script(str(content["script"]))
        require_harmless(str(content["script"]))
    else:
        if (line := secret_line(str(content["template"]))) is not None:
            refuse(
                f"The template holds a secret in line {line}; make it a parameter.", None, field="template", line=line
            )
        variables = check_template(str(content["template"]))
        if not given:
            return check_schema(text_schema(sorted(variables)))
        if unknown := sorted(variables - declared):
            refuse(
                f"The template uses {', '.join(unknown)[:200]}, which the parameters do not declare.",
                None,
                field="template",
                unknown=unknown,
            )
    return schema


class _Problems:
    """Collects what is wrong, so that all of it can be said together."""

    def __init__(self) -> None:
        self._errors: list[InvalidInputError] = []

    def of(self, check: Callable[[], T]) -> T | None:
        """What a check returns, or None after noting why it refused."""
        try:
            return check()
        except InvalidInputError as error:
            self._errors.append(error)
            return None

    def raise_any(self) -> None:
        """Raise the one error there is, or one that names them all."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            problems = [error.message for error in self._errors]
            raise InvalidInputError(" ".join(problems), details={"problems": problems})
