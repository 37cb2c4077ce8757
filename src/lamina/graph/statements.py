"""Reads explicit statements out of a sentence: somebody works at, uses, prefers, depends on something.

The grammar is a verb phrase from a list, what stands before it and what stands behind it. Questions, conditions,
negations and wishes state nothing and are passed over: a missed relation costs less than a wrong one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamina.graph.mentions import Spot
from lamina.graph.names import LONGEST_NAME, fold, tidy
from lamina.graph.shapes import EAST_ASIAN, EAST_ASIAN_SCRIPT, EAST_ASIAN_SELF, SET_PHRASES, USER
from lamina.graph.types import Predicate
from lamina.graph.words import BARE_COPULAS, STOP_WORDS, VERBS, words

_WORD = re.compile(r"(?<![\w'’-])[^\W\d_][\w'’-]*")
_CONTRACTED = (
    (re.compile(r"(?<=\w)['’]m\b"), " am"),
    (re.compile(r"(?<=\w)['’]re\b"), " are"),
    (re.compile(r"(?<=\w)['’]s (?=(?:an?|the|my|our)\s)"), " is "),
)
_ADVERB = re.compile(
    r"\b(?:also|currently|still|always|usually|often|really|now|mainly|mostly|primarily|already|just|recently|generally"
    r"|strongly|actually|typically|heavily|directly|only|definitely|absolutely|finally|originally"
    r"|auch|derzeit|immer|meistens|gerne|aktuell|aussi|actuellement|toujours|también|actualmente|siempre|attualmente)\s",
)
_CLAUSE_END = re.compile(
    r"[;:]\s|\s[–—-]\s|,?\s(?:but|because|although|though|whereas|while|so that|aber|weil|obwohl|während|mais|parce que"
    r"|pero|porque|perché|maar|omdat)\s|,\s(?:and|which|who|where|so|und|et|y|e|en|der|die|das|qui|que)\s(?!\S+(?:[,.]|$))",
    re.IGNORECASE,
)
_OBJECT_END = re.compile(
    r"[,()\[\]!?]|\.(?:\s|$)|\s(?:because|since|when|while|which|that|who|where|for|with|in order|to|from|by|as|after"
    r"|before|until|till|instead|so|if|via|through|over|than|on|in|at|during|every|again|too|today|now|and then|rather"
    r"|seit|bis|für|mit|wenn|als|weil|depuis|pour|avec|quand|chez|desde|hasta|para|con|cuando|per|da|sinds|voor|met)\s",
    re.IGNORECASE,
)
_WISH_END = re.compile(
    r"[,()\[\]!?]|\.(?:\s|$)|\s(?:because|when|while|which|who|over|than|instead|rather|so|if|weil|wenn|als|parce|porque)\s",
    re.IGNORECASE,
)
_LIST = re.compile(
    r",\s*(?:(?:and|or|und|oder|et|ou|y|o|e|en)\s+)?|\s+(?:and|or|und|oder|et|y|e|as well as|sowie|&)\s+", re.IGNORECASE
)
_DETERMINER = re.compile(
    r"^(?:(?:a|an|the|my|our|your|his|her|its|their|this|that|these|those|some|any|both|all|each|every|also|so|and|or|but"
    r"|then|well|however|today|yes|no|ok|okay|btw|fyi|der|die|das|den|dem|des|ein|eine|einen|einem|einer|mein|meine|meinen|unser|unsere"
    r"|unseren|le|la|les|un|une|des|du|mon|ma|mes|notre|nos|el|los|las|una|mi|mis|nuestro|nuestra|o|os|as|um|uma|il|lo|gli"
    r"|uno|het|een|de|onze|mijn|to)\s+|l['’]|d['’])+",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"(?:^|\s)(?:has|have|had|will|should|must|can|shall|do|does|did|been|be|being|is|are|was|were|am|who|that|which|both|all|['’]ve"
    r"|['’]ll|['’]d)$",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"(?:\bnot|\bnever|\bno longer|n['’]t|\bcannot|\bwithout|\bto|\bcould|\bmight|\bmay|\bwould|\bwant|\bwants|\bif"
    r"|\bunless|\bwhether|\bwhy|\bhow|\bnicht|\bkein\w*|\bnie|\bwürde|\bkönnte|\bne|\bn['’]|\bjamais|\bno|\bnunca|\bnon|\bmai|\bniet|\bnooit|\bnão)$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"^(?:if|unless|whether|when|whenever|once|suppose|imagine|wenn|falls|sobald|si|quand|cuando|se|als|indien|quando|let|please)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"^(?:not|never|no|nicht|kein\w*|pas|jamais|niet|geen|nunca)\b", re.IGNORECASE)
_FIRST_PERSON = frozenset({"i", "me", "myself", "ich", "je", "j", "yo", "eu", "io", "ik", "i'm", "user"})
_MY = words("my mine mein meine meinen meinem meiner mon ma mes mi mis meu minha mio mia mijn")
_THIRD_PERSON = frozenset(
    {"he", "she", "it", "er", "sie", "es", "il", "elle", "él", "ella", "ele", "ela", "lui", "lei", "hij", "zij"}
)
_GROUP = frozenset({"we", "wir", "nous", "nosotros", "nós", "noi", "wij", "us"})
_PRONOUNS = _FIRST_PERSON | _THIRD_PERSON | _GROUP | {"you", "they", "that", "this", "who", "which", "there"} - {"user"}
_NEVER = words(
    """that this these those they them there here what which who something someone everything everyone nothing anything
    one ones him her his hers me you your yours much many more most lot lots few several way thing things able about
    sure up down out"""
)
_TOLD_ELSEWHERE = ("name", "favourite", "favorite")  # by the set phrases
_ASIDE = re.compile(r"\s*\([^()]{0,200}\)")
_MOST_VERBS = 12
_LONGEST_SUBJECT = 160
_CONJUNCTION = re.compile(r"(?:^|\s)(?:and|or|und|oder|et|ou|y|o|e|en|then)$", re.IGNORECASE)
_ARTICLE = re.compile(
    r"(?:a|an|the|my|our|two|three|four|five|\d+|many|several|no|ein|eine|einen|zwei|drei|un|une|una|deux|dos|um|uma|een)\s",
    re.IGNORECASE,
)
_WISHES = (Predicate.PREFERS, Predicate.DISLIKES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A relation that a sentence states."""

    subject: str
    predicate: Predicate
    object: str


def speaks_of_self(sentence: str) -> bool:
    """Whether somebody says `I` or `my` in it: who that is, is the user."""
    said = {word[0].lower() for word in _WORD.finditer(sentence)}
    return not said.isdisjoint(_FIRST_PERSON | _MY) or any(sign in sentence for sign in EAST_ASIAN_SELF)


def find_statements(sentence: str, spots: Sequence[Spot], *, before: str | None = None) -> list[Statement]:
    """What a sentence states. `before` is who the sentence before spoke of, for `she` and `it`."""
    if sentence.rstrip("\"'”)]").endswith(("?", "？")):
        return []
    found = [_special(match, predicate) for shape, predicate in SET_PHRASES for match in shape.finditer(sentence)]
    if EAST_ASIAN_SCRIPT.search(sentence):
        found += _east_asian(sentence)
    speaker = before
    names = {fold(spot.text) for spot in spots}
    for contracted, written_out in _CONTRACTED:
        sentence = contracted.sub(written_out, sentence)
    for clause in _CLAUSE_END.split(_ADVERB.sub("", _ASIDE.sub("", sentence))):
        for statement in _clause(clause, names, speaker):
            found.append(statement)
            speaker = statement.subject
    return [one for one in dict.fromkeys(found) if fold(one.subject) != fold(one.object)]


def _special(match: "re.Match[str]", predicate: Predicate) -> Statement:
    fields = match.groupdict()
    return Statement(subject=fields.get("s") or USER, predicate=predicate, object=_bare(fields["o"]))


def _east_asian(sentence: str) -> list[Statement]:
    found = []
    for shape, predicate in EAST_ASIAN:
        for match in shape.finditer(sentence):
            subject = EAST_ASIAN_SELF.get(match["s"], match["s"].removesuffix("さん"))
            found.append(Statement(subject=subject, predicate=predicate, object=tidy(match["o"])))
    return found


def _clause(clause: str, names: set[str], before: str | None) -> Iterator[Statement]:
    """The statements of a clause: of each verb whose two sides can be names, from left to right."""
    text = clause.strip()
    if _CONDITION.match(text):
        return
    subjects: list[str] = []
    start = 0
    matches = list(_verbs(text))
    if len(matches) > _MOST_VERBS:  # no clause that a person wrote
        return
    for verb in matches:
        if verb.start < start:
            continue
        left = text[max(start, verb.start - _LONGEST_SUBJECT) : verb.start].strip()
        same = bool(subjects) and (not left or _CONJUNCTION.search(left) is not None)
        read = subjects if same else _subjects(left, names, before)
        objects = _objects(text[verb.end :], verb.phrase, names) if read else []
        if not objects:
            continue
        predicate, swapped = VERBS[verb.phrase]
        for subject in read:
            for object in objects:
                pair = (object, subject) if swapped else (subject, object)
                yield Statement(subject=pair[0], predicate=predicate, object=pair[1])
        subjects = read
        start = verb.end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    phrase: str
    start: int
    end: int


def _by_first_word() -> dict[str, list[str]]:
    phrases: dict[str, list[str]] = {}
    for phrase in sorted(VERBS, key=len, reverse=True):
        phrases.setdefault(phrase.split(" ", maxsplit=1)[0], []).append(phrase)
    return phrases


_PHRASES = _by_first_word()
_NO_VERB = _Verb(phrase="", start=-1, end=-1)


def _verbs(text: str) -> Iterator[_Verb]:
    """The verb phrases of a clause from left to right, the longest at each place."""
    lowered = text.lower().replace("’", "'")
    if len(lowered) != len(text):  # a letter whose small form is longer: places would not agree
        return
    end = 0
    for word in _WORD.finditer(lowered):
        if word.start() < end:
            continue
        for phrase in _PHRASES.get(word.group(), ()):
            if lowered.startswith(phrase, word.start()) and not _goes_on(lowered, word.start() + len(phrase)):
                end = word.start() + len(phrase)
                yield _Verb(phrase=phrase, start=word.start(), end=end)
                break


def _goes_on(text: str, end: int) -> bool:
    following = text[end : end + 1]
    return following.isalnum() or (following in ("-", "_", "'") and not text[:end].endswith("'"))


def _subjects(left: str, names: set[str], before: str | None) -> list[str]:
    """Who a verb speaks of, from what stands before it; nobody where that is no name or the verb is not meant so."""
    if not left:
        return [before or USER]
    if _UNREAL.search(left) or _CONJUNCTION.search(left):
        return []
    while (shorter := _AUXILIARY.sub("", left).rstrip()) != left:
        left = shorter
        if _UNREAL.search(left):
            return []
    if not left:
        return [before or USER]
    parts = [part for part in _LIST.split(left) if part.strip()]
    if not parts:
        return []
    candidates = [_bare(part) for part in parts]
    if len(parts) > 1 and all(fold(one) in names or one[:1].isupper() for one in candidates):
        return [name for one in candidates if (name := _subject(one, names, before))]
    name = _subject(candidates[-1], names, before)
    return [name] if name else []


def _subject(text: str, names: set[str], before: str | None) -> str | None:
    folded = fold(text)
    if folded.startswith(_TOLD_ELSEWHERE):
        return None
    if folded in _FIRST_PERSON:
        return USER
    if folded in _GROUP:
        return "we"
    if folded in _THIRD_PERSON:
        return before
    words = text.split()
    if len(words) > 1 and fold(words[-1]) in _PRONOUNS:  # `glad you`, `hope she`
        return _subject(words[-1], names, before)
    if _acceptable(words, 4) and not _PRONOUNS.intersection(map(fold, words)):
        return text
    # `the library that Ann wrote`: the name right before the verb is the one.
    for length in (3, 2, 1):
        tail = " ".join(words[-length:])
        if len(words) > length and fold(tail) in names:
            return tail
    return None


def _objects(right: str, verb: str, names: set[str]) -> list[str]:
    """What a verb speaks about, from what stands behind it: one thing, or a list of things."""
    if not right[:1].isspace() and not verb.endswith("'"):
        return []
    text = right.strip()
    if not text or _DENIED.match(text) or text.startswith("of "):
        return []
    predicate = VERBS[verb][0]
    ends = _WISH_END if predicate in _WISHES else _OBJECT_END
    found: list[str] = []
    for number, part in enumerate(_LIST.split(text)):
        cut = ends.search(part + " ", 1)
        bare = _bare(part if cut is None else part[: cut.start()])
        words = bare.split()
        if number and (
            next(_verbs(part.strip()), _NO_VERB).start == 0
            or not (fold(bare) in names or (len(words) <= 2 and number < 6))
        ):
            break
        if not _acceptable(words, 8 if predicate in _WISHES else 6):
            break
        if number == 0 and not _says_something(verb, text, bare, names):
            break
        found.append(bare)
        if cut is not None and cut.start() < len(part):
            break
    return found


def _says_something(verb: str, text: str, bare: str, names: set[str]) -> bool:
    """`is broken` and `has helped` relate nothing; `is Ann` and `has a dog` do."""
    if verb in BARE_COPULAS:
        return _starts_with_name(bare, names)
    if VERBS[verb][0] is Predicate.HAS:
        return bool(_ARTICLE.match(text)) or _starts_with_name(bare, names)
    return True


def _starts_with_name(text: str, names: set[str]) -> bool:
    words = text.split()
    return any(fold(" ".join(words[:length])) in names for length in range(1, min(5, len(words)) + 1))


def _acceptable(words: Sequence[str], most: int) -> bool:
    if not 1 <= len(words) <= most or sum(map(len, words)) > LONGEST_NAME:
        return False
    folded = [fold(word) for word in words]
    if any(word in _NEVER for word in folded[:1]) or all(word in STOP_WORDS or word in _NEVER for word in folded):
        return False
    return any(character.isalnum() for word in words for character in word)


def _bare(text: str) -> str:
    """A phrase without determiners and surrounding signs."""
    kept = tidy(text)
    while (shorter := _DETERMINER.sub("", kept, count=1)) != kept:
        kept = shorter
    return tidy(kept)
