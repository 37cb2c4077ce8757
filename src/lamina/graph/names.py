"""What makes two spellings one entity, and what a caller may name one."""

import re
from functools import lru_cache

from lamina.errors import InvalidInputError
from lamina.kernel.checks import check_name, check_new_name
from lamina.kernel.redact import redact
from lamina.kernel.text import normalise

LONGEST_NAME = 120
"""Characters of a name at most; longer ones are phrases, not names."""

_START = " \t\n\r,;:!?…\"'`´’‘“”„«»‹›「」『』()[]{}<>*"
_END = _START + "."  # a dot in front belongs to the name: .env, .NET
_DASHES = re.compile("[‐-―−]")
_POSSESSIVE = re.compile(r"['’]s?$")


@lru_cache(maxsize=8192)
def fold(name: str) -> str:
    """The form under which an entity is found: case, width, dashes and surrounding signs do not count."""
    return _bare(fold_text(tidy(name)))


def fold_text(text: str) -> str:
    """A text with the letters, dashes and blanks of folded names, so that they can be found in it."""
    return _DASHES.sub("-", normalise(text)).replace("’", "'")


def tidy(name: str) -> str:
    """A name as it is shown: without surrounding signs and repeated blanks."""
    return _bare(" ".join(name[:1000].split()))


def _bare(text: str) -> str:
    text = text[: 2 * LONGEST_NAME]
    kept = text
    while (shorter := _POSSESSIVE.sub("", kept).rstrip(_END).lstrip(_START)) != kept:
        kept = shorter
    # What is nothing but signs, such as `()`, is still a name.
    return kept or text.strip()


def check_entity(field: str, value: object) -> str:
    """The name of an entity to look for; raises InvalidInputError for an empty or overlong one."""
    return check_name(field, value, longest=LONGEST_NAME)


def check_new_entity(field: str, value: object) -> str:
    """A name to record something under; one that holds a secret, or characters nobody sees, is refused as well."""
    name = check_new_name(field, value, longest=LONGEST_NAME)
    refuse_secret(field, name)
    return name


def refuse_secret(field: str, text: str) -> None:
    """Raise InvalidInputError when a text that the graph would keep in clear holds a secret."""
    if redact(text, emails=False) != text:
        raise InvalidInputError(
            f"The {field} looks as if it held a password or a token; name the thing without it.",
            details={"field": field},
        )
