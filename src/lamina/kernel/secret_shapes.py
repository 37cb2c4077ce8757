"""What secrets look like: tokens of known issuers, names that announce one, and how random a value is.

Pure data and small judgements for `redact`. Matching is by shape only, so a key that was revoked years ago is hidden
as well; hashes of commits, UUIDs and plain words have none of these shapes.
"""

import re
from itertools import pairwise

TOKEN = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      (?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b
    | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{20,}
    | gl(?:pat|ptt|dt|rt|cbt|soat|ft)-[\w-]{16,}
    | xox[abceoprs]-[\w.-]{8,} | xapp-\d-[\w-]{8,}
    | sk-(?=[\w-]{0,40}(?:\d|[a-z][A-Z]|[A-Za-z0-9]{20}))[\w-]{16,}
    | [srp]k_(?:live|test|prod)_\w{8,} | whsec_[A-Za-z0-9+/=]{16,}
    | AIza[\w-]{30,} | ya29\.[\w-]{16,} | GOCSPX-[\w-]{16,} | 1//0[\w-]{24,}
    | eyJ[\w-]{8,1000}\.[\w-]{8,}(?:\.[\w-]*){0,3}
    | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{40,} | hf_[A-Za-z0-9]{30,} | gsk_[A-Za-z0-9]{30,} | xai-[A-Za-z0-9]{30,}
    | pplx-[A-Za-z0-9]{30,} | SG\.[\w-]{16,40}\.[\w-]{16,} | (?:SK|AC)[0-9a-f]{32}\b | dop_v1_[0-9a-f]{40,}
    | dapi[0-9a-f]{32} | shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32} | sq0(?:atp|csp|idp)-[\w-]{20,} | lin_api_\w{20,}
    | (?:secret|ntn)_[A-Za-z0-9]{40,} | hv[sbr]\.[\w-]{20,} | dp\.(?:pt|st|ct|sa)\.\w{30,} | ATATT3[\w=-]{30,}
    | NRAK-[A-Z0-9]{20,} | sntrys_[\w+/=]{30,} | pscale_(?:tkn|pw|oauth)_[\w.-]{20,} | sbp_[0-9a-f]{40}
    | lamina_[0-9a-f]{16}_[0-9a-f]{64} | AGE-SECRET-KEY-1[A-Z0-9]{40,} | key-[0-9a-f]{32}\b | EAA[A-Za-z0-9]{60,}
    | \d{8,10}:AA[\w-]{32,} | [MNO][\w-]{22,30}\.[\w-]{6}\.[\w-]{27,}
    | \$(?:2[abxy]|5|6|y|apr1|argon2(?:id?|d))\$[^\s:"']{20,}
    )""",
    re.VERBOSE,
)
"""Tokens that are recognised wherever they stand. Parts that something must follow are bounded: no text is slow."""

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN ).)*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\[nr]|[A-Za-z0-9+/=:,.-])*)",
    re.DOTALL,
)
"""A private key in PEM form; one that was cut off ends where its base64 ends."""

SECRET_NAME = (
    r"(?:pass(?:word|wort|wd|code|phrase)?|pwd|secret|token|credentials?"
    r"|kennwort|mot de passe|contrase(?:ñ|n)a|senha|пароль|密[码碼]|パスワード|비밀번호"
    r"|(?:api|access|account|app|auth|client|consumer|deploy|encryption|license|master|private|secret|service|shared"
    r"|signing|ssh|storage|subscription)[_\-. ]?key)"
)
"""The end of a name that announces a secret: `DB_PASSWORD`, `apiKey`, `client-secret`, `refresh_token`; small."""

FIRM_NAME = re.compile(
    r"(?:pass(?:word|wort|wd|code|phrase|e)?|kennwort|contrase(?:ñ|n)a|senha|пароль|密[码碼]|パスワード|비밀번호|pwd|key|[A-Za-z0-9][_-](?i:token|secret)|[a-z](?:Token|Secret))$"
)
"""Names whose value is a secret however plain it looks; a bare `token` is also a word of every parser."""

_ORDINARY = """
    and any arg argument authentication bool bytes cannot changed correct does empty error expected expired failed
    false field file flag for found from has have here hidden in incorrect input int invalid is it key length limit
    masked missing mismatch must name needed nil no none not null object of on option optional or parameter password
    policy present prompt provided redacted rejected required reset revoked secret self set should spec str string
    supplied that the this to token too true type undefined unset unexpected unknown use valid value was when will
    with without wrong yes you your
"""
ORDINARY_VALUES = frozenset(_ORDINARY.split())
"""What follows such a name in a sentence, a type annotation or an error message."""

_CODE = re.compile(r"[a-z_][a-z_]*(?:\.[A-Za-z_][A-Za-z_]*)+|[A-Za-z_][\w.]*[(\[{].*|[<$%{\[*(].*|&?[A-Za-z_]+::.*")
_MASK = re.compile(r"[*x•.…#-]{2,}|x{3,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+")
_HASH_NAME = re.compile(
    r"(?:hash|digest|checksum|sha\d*|md5|etag|integrity|commit|revision|rev|cursor|id|uuid|guid|fingerprint|nonce"
    r"|version|path|file|url|uri|image|ref|name)$",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether a value stands for something else: a plain word, a variable, a call, a mask, a hidden secret."""
    bare = value.strip("\"'`,;:.!?")
    return not bare or bare.lower() in ORDINARY_VALUES or bool(_CODE.fullmatch(bare) or _MASK.fullmatch(bare))


def is_mixed(value: str) -> bool:
    """Whether a value has letters with digits or capitals inside, as no plain word has."""
    digits = any(char.isdigit() for char in value)
    letters = any(char.isalpha() for char in value)
    return (digits and letters) or re.search(
        r"[a-z][A-Z].*[a-z]|[A-Za-z0-9][^\w\s.,;:/'\"()-][A-Za-z0-9]", value
    ) is not None


def is_random(value: str, *, changing: float = 0.42) -> bool:
    """Whether a value is of base64's alphabet and changes between small, capital and digit as no name does.

    `changing` is the share of neighbours that differ: about 0.6 for a key, below 0.4 for names in camel case.
    """
    if not _BASE64.fullmatch(value) or value.count("/") > 3:
        return False
    kinds = ["0" if char.isdigit() else "a" if char.islower() else "A" for char in value if char.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return len(set(kinds)) == 3 and changes > changing * len(kinds) and len(set(value)) > 0.4 * len(value) ** 0.9


def names_hash(name: str) -> bool:
    """Whether a name announces a digest or an identifier, which are no secrets however random they look."""
    return _HASH_NAME.search(name) is not None
