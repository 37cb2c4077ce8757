"""What kind of trouble an error is, from its type and its words. Pure.

The type decides where it can; then whole words do, so that "rapid" is no API and "capital" neither. The order is that
of the specification: a timeout of a provider is a timeout.
"""

import re

from lamina.learning.types import LearningCategory

_TIMEOUT = re.compile(r"\b(?:time[ds]?[ -]?out|timeouts?|deadline[ _-]?exceeded|deadlineexceeded)\b", re.IGNORECASE)
_PERMISSION = re.compile(
    r"\b(?:(?:permission|access|authori[sz]ation) (?:was |is )?(?:denied|refused)|denied access|forbidden"
    r"|unauthori[sz]ed|not (?:permitted|allowed|authori[sz]ed)|insufficient (?:permissions?|privileges?)|EACCES|EPERM"
    r"|(?:HTTP|status(?: code)?|error(?: code)?)[ :]{1,2}40[13])\b",
    re.IGNORECASE,
)
_PROVIDER = re.compile(
    r"\b(?:api|model|provider|llm|rate[ -]?limit(?:s|ed|ing)?|too many requests|quota|overloaded|service unavailable"
    r"|bad gateway|(?:HTTP|status(?: code)?|error(?: code)?)[ :]{1,2}(?:429|50[234]))\b",
    re.IGNORECASE,
)
_TIMEOUT_TYPE = re.compile(r"(?:Timeout|TimedOut|DeadlineExceeded)")
_PERMISSION_TYPE = re.compile(r"(?:Permission|Forbidden|Unauthorized|AccessDenied|Authentication|Authorization)")
_PROVIDER_TYPE = re.compile(r"(?:^API|RateLimit|Provider|ServiceUnavailable|Overloaded)")
_DEEPEST = 16


def categorise(text: str, *, tool: str | None, kinds: tuple[str, ...] = ()) -> LearningCategory:
    """The category of an error with this text; `kinds` are the names of its types (see `error_kinds`)."""
    checks = (
        (LearningCategory.TIMEOUT, _TIMEOUT_TYPE, _TIMEOUT),
        (LearningCategory.PERMISSION, _PERMISSION_TYPE, _PERMISSION),
        (LearningCategory.PROVIDER_ERROR, _PROVIDER_TYPE, _PROVIDER),
    )
    for category, by_type, by_words in checks:
        if any(by_type.search(kind) for kind in kinds) or by_words.search(text):
            return category
    return LearningCategory.TOOL_ERROR if tool else LearningCategory.GENERAL


def error_kinds(error: BaseException) -> tuple[str, ...]:
    """The names of the error's types: its own and inherited ones, and those of what caused it."""
    names: dict[str, None] = {}
    seen: BaseException | None = error
    for _ in range(_DEEPEST):
        if seen is None:
            break
        if isinstance(seen, BaseExceptionGroup) and seen.exceptions:
            seen = seen.exceptions[0]
            continue
        names |= dict.fromkeys(kind.__name__ for kind in type(seen).__mro__[:-3])
        seen = seen.__cause__
    return tuple(names)
