"""Hides secrets in text that is about to be stored: error messages, tool parameters, audit details.

Hidden are tokens of known shapes, private keys, authorisation headers and cookies, passwords in addresses, values
of names that announce a secret (`password=...`, `"apiKey": "..."`, `--token ...`), random-looking assignments, and
e-mail addresses. Sentences, code, paths, commit hashes and UUIDs stay as they are. Redacting twice changes nothing.

This is a net, not a proof: a password nobody named as one, in a sentence, looks like any other word.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from lamina.kernel.secret_shapes import (
    FIRM_NAME,
    PRIVATE_KEY,
    SECRET_NAME,
    TOKEN,
    is_mixed,
    is_placeholder,
    is_random,
    names_hash,
)

REDACTED: Final = "[redacted]"
EMAIL: Final = "[email]"

_DEEPEST = 32
_LINE_REST = 64  # characters after a value that tell whether its line ends there

_QUOTED = r"""\\?"(?:[^"\\\n]|\\[^"\n])*\\?"|'(?:[^'\\\n]|\\.)*'"""
_URL_PASSWORD = re.compile(r"(://[^\s:/?#@\"'<>]*):(?!\d{1,5}(?:[/?#\s]|$)|//)([^\s\"'<>]{0,256})@(?=[\w\[])")
_URL_TOKEN = re.compile(r"://([\w.~%+-]{16,})@")
_HEADER = re.compile(
    r"""\b(authorization|cookie|x-(?:auth|api|access|csrf)-(?:token|key))"""
    r"""(\\?["']?\s{0,9}[:=]\s{0,9}\\?["']?)([^\r\n"'\\]+)"""
)
_SCHEME = re.compile(r"\b(bearer|basic|token)(\s{1,9})([a-z0-9._~+/=-]{8,})")
_HINT = re.compile(r"pass|pwd|secret|token|credential|key|kennwort|contrase|senha|парол|密|パスワ|비밀")
_ASSIGNED = re.compile(
    rf"""({SECRET_NAME})(\\?["'`]?\]?\s{{0,9}}(?:=>|:=|==?|:|：)\s{{0,9}})({_QUOTED}|[^\s"',;&<>)\]}}]+)"""
)
_FLAG = re.compile(rf"""(--?(?:[\w-]{{0,40}}-)?{SECRET_NAME})(\s{{1,9}})({_QUOTED}|[^\s"'-]\S*)""")
_STATED = re.compile(
    rf"""({SECRET_NAME})((?:\s{{1,3}}(?:of|for|on)(?:\s{{1,3}}[\w.-]{{1,30}}){{1,4}}?)?"""
    rf"""\s{{1,9}}(?:is|was|to|set to|now)\s{{1,9}})({_QUOTED}|[^\s"',;]+)"""
)
_QUOTED_AFTER = re.compile(rf"({SECRET_NAME})(\s{{1,9}})({_QUOTED})")
# Commands that take a secret without naming it: after a user and a colon, or after a letter.
_COMMANDS = re.compile(r"\s-u|\s--(?:proxy-)?user|sshpass|login|mysql|redis-cli")
_ARGUMENTS = r"[^\n|;&]{0,200}?\s"
_USER = re.compile(
    rf"""(\bcurl\b{_ARGUMENTS}(?:-u|--(?:proxy-)?user)|(?<!\S)(?:-u|--(?:proxy-)?user))"""
    r"""([=\s]{0,9}["']?[\w.@+-]{1,80}:)([^\s"']+)"""
)
_LETTER = re.compile(
    rf"""(\bsshpass\s{{1,9}}-p|\b(?:docker|podman|az|oc|helm|skopeo|buildah)\s(?:\w+\s)?login\b{_ARGUMENTS}-p"""
    rf"""|\bredis-cli\b{_ARGUMENTS}-a)([=\s]{{0,9}})({_QUOTED}|[^\s"']+)"""
)
_MYSQL = re.compile(rf"""(\bmysql\w*\b{_ARGUMENTS}-p)()({_QUOTED}|[^\s"']+)""")
# Names that announce a secret only together with a value that looks like one.
_SIGNED = re.compile(
    r"""(x-(?:amz|goog|oss|cos|ms)-signature|(?<=[?&;,\s])(?:sig|signature)|(?<![a-z0-9_.$-])auth)"""
    r"""(\\?["']?\s{0,2}[=:]\s{0,2}\\?["']?)([a-z0-9%+/_.~=-]{6,})"""
)
_DIGIT = re.compile(r"[0-9]")
_SHORT_HINT = re.compile(r"auth|sig|otp|pin|code|cv[vc]")
_AUTH_PAIR = re.compile(
    r"""(\bauth)(\s{0,2}=\s{0,2}[(\[]\s{0,2}(?:"[^"\n]{0,80}"|'[^'\n]{0,80}')\s{0,2},\s{0,2})("[^"\n]+"|'[^'\n]+')"""
)
_ONCE = re.compile(
    r"""(?<![a-z0-9.-])((?:[a-z0-9]{1,20}_){0,3}(?:t?otp|pin)(?:[ _-](?:code|number))?"""
    r"""|one[- ]time[- ](?:password|passcode|code|pin)|(?:2fa|mfa|verification|security)[ _-]code|cvv2?|cvc2?)"""
    r"""(\\?["']?\s{0,2}(?:[=:]|\bis\b|\bwas\b)?\s{0,2}\\?["']?)(\d{3,10})(?![\d.,]?\d|[a-z_-])"""
)
_LONG = re.compile(r"(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/_-]{24,}={0,2}(?![\w.])")
_NAMED = re.compile(r"""([\w.-]+)\\?["']?\]?\s{0,9}(?:=>|:=|=|:)\s{0,9}\\?["']?$""")
_EMAIL = re.compile(r"(?<![\w.+%-])([\w.+-]{1,64})(@|%40)((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24})(?![\w@])")
_NOT_A_DOMAIN = re.compile(
    r"(?i)\.(?:service|socket|timer|target|mount|slice|scope|device|swap|png|jpe?g|gif|svg|webp|ico|css|js|json|tgz)$"
)


def redact(text: str, *, emails: bool = True) -> str:
    """The text with every secret replaced by a mark, and every e-mail address unless `emails` is off.

    Ordinary text comes back as it is.
    """
    if not text:
        return text
    if "-----BEGIN" in text:
        text = PRIVATE_KEY.sub(REDACTED, text)
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1:{REDACTED}@", text)
        text = _URL_TOKEN.sub(_hide_url_token, text)
    text = TOKEN.sub(REDACTED, text)
    text = _hide(text, _HEADER, _header)
    text = _hide(text, _SCHEME, _scheme)
    if _HINT.search(_small(text)):
        text = _hide(text, _ASSIGNED, _assigned)
        text = _hide(text, _STATED, _stated)
        text = _hide(text, _QUOTED_AFTER, _quoted_after)
        text = _hide(text, _FLAG, _flag)
    if _DIGIT.search(text) and _SHORT_HINT.search(_small(text)):
        text = _hide(text, _SIGNED, _signed)
        text = _hide(text, _ONCE, _once)
    if "auth" in text:
        text = _hide(text, _AUTH_PAIR, _quoted_secret)
    if _COMMANDS.search(_small(text)):
        text = _hide(text, _USER, _user)
        text = _hide(text, _LETTER, _letter)
        text = _hide(text, _MYSQL, _letter)
    text = _LONG.sub(_hide_long, text)
    if emails and ("@" in text or "%40" in text):
        text = _EMAIL.sub(_hide_email, text)
    return text


def redact_value(value: object, *, emails: bool = True) -> object:
    """A JSON-like value with every string redacted, whole where its name announces a secret.

    Tuples and sets become lists, bytes their length, and anything JSON does not know its redacted text; what is
    nested deeper than 32 levels is cut.
    """
    return _redact_value(value, 0, emails)


def is_secret_name(name: object) -> bool:
    """Whether a key of an object announces a secret: `password`, `apiKey`, `Authorization`, `X-Auth-Token`."""
    if not isinstance(name, str):
        return False
    small = name[-80:].lower()
    return _NAME.fullmatch(small) is not None and _WORD.search(small) is None


_NAME = re.compile(rf"-*[\w.\- ]*?(?:{SECRET_NAME}|authorization|cookie)")
_WORD = re.compile(r"(?:by|com|der|res|sur|ver)pass$")  # bypass, compass, underpass, trespass, surpass, overpass


def _redact_value(value: object, depth: int, emails: bool) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact(value, emails=emails)
    if depth >= _DEEPEST:
        return "[too deep]"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes]"
    if isinstance(value, Mapping):
        return _redact_mapping(value, depth + 1, emails)
    if isinstance(value, list | tuple | set | frozenset):
        return _redact_items(list(value), depth + 1, emails)
    return redact(str(value), emails=emails)


def _redact_mapping(value: Mapping[object, object], depth: int, emails: bool) -> dict[str, object]:
    # Form fields and environment lists name the secret in a sibling: {"name": "PASSWORD", "value": "..."}.
    named = is_secret_name(value.get("name", value.get("key")))
    return {
        redact(str(key), emails=emails): _hidden(item, depth, emails)
        if is_secret_name(key) or (named and key == "value") or _gives_away(key, item)
        else _redact_value(item, depth, emails)
        for key, item in value.items()
    }


def _gives_away(key: object, item: object) -> bool:
    """Whether a name such as `otp`, `pin` or `sig` stands before a value that looks like one."""
    if not isinstance(key, str) or not isinstance(item, str | int) or isinstance(item, bool):
        return False
    pair = f" {key[-40:]}={str(item)[:200]}".lower()
    return any(pattern.match(pair, 1) for pattern in (_SIGNED, _ONCE)) and redact(pair) != pair


def _redact_items(items: list[object], depth: int, emails: bool) -> list[object]:
    # Arguments and headers name the secret in the item before it: ["--password", "..."].
    hidden: list[object] = []
    for place, item in enumerate(items):
        before = items[place - 1] if place else None
        follows = isinstance(item, str) and isinstance(before, str) and _announces(before, items)
        hidden.append(_hidden(item, depth, emails) if follows else _redact_value(item, depth, emails))
    return hidden


def _announces(before: str, items: list[object]) -> bool:
    return (before.startswith("-") or len(items) == 2) and is_secret_name(before)


def _hidden(value: object, depth: int, emails: bool) -> object:
    """What stands under a secret's name: text and numbers go whole, structure stays."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _redact_value(value, depth, emails)
    return REDACTED


class _Pair(NamedTuple):
    """A name and the value that follows it, with what stands around them."""

    before: str
    name: str
    between: str
    value: str
    rest: str


def _hide(text: str, pattern: re.Pattern[str], judge: Callable[[_Pair], str | None]) -> str:
    """Replace the values `judge` has another text for. The pattern sees small letters: that is five times faster."""
    parts, last = [], 0
    for found in pattern.finditer(_small(text)):
        opened, closed = found.span(3)
        pair = _Pair(
            before=text[max(0, found.start() - 3) : found.start()],
            name=text[slice(*found.span(1))],
            between=text[slice(*found.span(2))],
            value=text[opened:closed],
            rest=text[closed : closed + _LINE_REST],
        )
        if (hidden := judge(pair)) is not None:
            parts += [text[last:opened], hidden]
            last = closed
    return "".join((*parts, text[last:])) if parts else text


def _small(text: str) -> str:
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_ASCII_SMALL)


_ASCII_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _hide_url_token(found: re.Match[str]) -> str:
    return f"://{REDACTED}@" if is_mixed(found[1]) else found[0]


def _header(pair: _Pair) -> str | None:
    words = pair.value.split()
    scheme = words[0] if len(words) > 1 and words[0].isalpha() else ""
    secret = words[1] if scheme else words[0] if words else ""
    if is_placeholder(secret) or not is_mixed(secret):  # "authorization: required", "cookie: none was sent"
        return None
    return f"{scheme} {REDACTED}" if scheme else REDACTED


def _scheme(pair: _Pair) -> str | None:
    random = is_mixed(pair.value) and (len(pair.value) >= 16 or pair.name.lower() != "token")
    return REDACTED if random and not is_placeholder(pair.value) else None


def _assigned(pair: _Pair) -> str | None:
    quote = _quote(pair.value)
    value = pair.value[len(quote) : len(pair.value) - len(quote)]
    name = pair.before + pair.name
    if is_placeholder(value) or _WORD.search(name.lower()):
        return None
    firm = FIRM_NAME.search(name) is not None or FIRM_NAME.search(pair.name.lower()) is not None
    return f"{quote}{REDACTED}{quote}" if _is_secret(value, firm, bool(quote), pair) else None


def _is_secret(value: str, firm: bool, quoted: bool, pair: _Pair) -> bool:
    if is_mixed(value):
        return firm or len(value) >= 8
    if quoted:
        return " " not in value and (firm or (len(value) >= 8 and not value.isdigit()))
    if firm and pair.between.lstrip("\\\"'`]") in ("=", ":=", "=>"):
        return True
    # `password: swordfish` and `password = swordfish` end their line; a sentence goes on.
    return firm and _LINE_END.match(pair.rest) is not None


_LINE_END = re.compile(r"[ \t]*(?:[,;\"'}\])]|$|[\r\n]|\\n)")


def _quote(value: str) -> str:
    for quote in ('\\"', '"', "'"):
        if value.startswith(quote) and value.endswith(quote) and len(value) >= 2 * len(quote):
            return quote
    return ""


def _stated(pair: _Pair) -> str | None:
    secret = pair.value.strip("\"'`.!?")
    return REDACTED if len(secret) >= 6 and is_mixed(secret) and not is_placeholder(secret) else None


def _quoted_after(pair: _Pair) -> str | None:
    """`wrong password 'Zx9Kq2Lm'`; what only sounds like a secret's name, such as a parser's token, is not meant."""
    quote = _quote(pair.value)
    value = pair.value[len(quote) : len(pair.value) - len(quote)]
    secret = len(value) >= 6 and is_mixed(value) and " " not in value and not is_placeholder(value)
    return f"{quote}{REDACTED}{quote}" if secret and FIRM_NAME.search(pair.name.lower()) else None


def _quoted_secret(pair: _Pair) -> str | None:
    quote = _quote(pair.value)
    example = pair.value.strip("\"'").lower() in ("pass", "passwd")
    return None if example or is_placeholder(pair.value) else f"{quote}{REDACTED}{quote}"


_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def _signed(pair: _Pair) -> str | None:
    """The signature of an address gives access like a password; `auth=basic` and `sig: str` are words."""
    small = pair.name.lower()
    if is_placeholder(pair.value) or not any(char.isdigit() for char in pair.value):
        return None
    if small == "auth" and (":" in pair.between or _DOTTED.fullmatch(pair.value)):  # a type, an attribute
        return None
    enough = 16 if small == "signature" else 8
    return REDACTED if is_mixed(pair.value) and len(pair.value) >= enough else None


def _once(pair: _Pair) -> str | None:
    """A code of four digits and more; `pin 13` is a pin of a plug, and only cards have codes of three."""
    small = pair.name.lower()
    assigned = pair.between.strip(" \t\\\"'") != ""
    if small.endswith(("pin", "otp")) and not assigned:
        return None
    return REDACTED if len(pair.value) >= 4 or (small.startswith("cv") and assigned) else None


def _user(pair: _Pair) -> str | None:
    """`curl -u ann:swordfish`; elsewhere `-u app:staff` and `--user 1000:1000` name a user and a group."""
    if is_placeholder(pair.value):
        return None
    return REDACTED if pair.name.lower().startswith("curl") or is_mixed(pair.value) else None


def _letter(pair: _Pair) -> str | None:
    # A capital letter means something else: `mysql -P3306` is a port.
    return None if pair.name[-1].isupper() or is_placeholder(pair.value) else REDACTED


def _flag(pair: _Pair) -> str | None:
    return None if pair.before[-1:].strip(" \t\r\n\"'`([=") or is_placeholder(pair.value.rstrip(")")) else REDACTED


def _hide_long(found: re.Match[str]) -> str:
    if len(found[0]) == 40 and is_random(found[0], changing=0.3):  # a cloud's secret key, which has no other mark
        return REDACTED
    if not is_random(found[0]):
        return found[0]
    name = _NAMED.search(found.string[max(0, found.start() - 80) : found.start()])
    return REDACTED if name is not None and not names_hash(name[1]) else found[0]


def _hide_email(found: re.Match[str]) -> str:
    rest = found.string[found.end() : found.end() + 1]
    remote = found[1] in ("git", "hg", "svn") and rest in (":", "/")
    return found[0] if remote or _NOT_A_DOMAIN.search(found[3]) else EMAIL
