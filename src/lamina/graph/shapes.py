"""Forms of statements that are read as a whole, where a list of verbs does not help."""

import re
from collections.abc import Sequence

from lamina.graph.types import Predicate

USER = "user"
"""Who says `I` in a text that belongs to a user."""

_PEOPLE = (
    "wife|husband|partner|girlfriend|boyfriend|brother|sister|mother|father|mom|dad|son|daughter|friend|boss|manager"
    "|colleague|cousin|uncle|aunt"
)
_NAME = r"\b[A-Z][\w-]{1,40}"
SET_PHRASES: Sequence[tuple[re.Pattern[str], Predicate]] = tuple(
    (re.compile(pattern), predicate)
    for pattern, predicate in (
        (r"\b[Mm]y name(?: is|['’]s) (?P<o>[^\s,.;!?]+(?: [A-Z][^\s,.;!?]*)*)", Predicate.SAME_AS),
        (r"\b[Mm]y favou?rite (?:[\w-]+ ){1,4}?(?:is|are) (?P<o>[^,.;!?]{2,60})", Predicate.PREFERS),
        (rf"(?P<s>{_NAME})['’]s favou?rite (?:[\w-]+ ){{1,4}}?(?:is|are) (?P<o>[^,.;!?]{{2,60}})", Predicate.PREFERS),
        (
            rf"\b[Mm]y (?:{_PEOPLE})(?: is| is named| is called|,|['’]s name is)? (?P<o>{_NAME}(?: {_NAME})?)",
            Predicate.KNOWS,
        ),
        (rf"(?P<s>{_NAME}(?: {_NAME}){{1,5}}) \((?P<o>[A-Z]{{2,6}})\)", Predicate.SAME_AS),
    )
)
"""Phrases that say something as a whole; without `s` they speak of the user."""

EAST_ASIAN: Sequence[tuple[re.Pattern[str], Predicate]] = tuple(
    (re.compile(pattern), predicate)
    for pattern, predicate in (
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^\s、。,はが]{1,20})(?:を使|を利用|を使用)", Predicate.USES),
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^、。,は]{1,20})が(?:大?好き)", Predicate.PREFERS),
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^\s、。,は]{1,20})に(?:依存)", Predicate.DEPENDS_ON),
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^\s、。,は]{1,20})に住んで", Predicate.LIVES_IN),
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^\s、。,は]{1,20})で働", Predicate.WORKS_AT),
        (r"(?P<s>[^\s、。,はがを]{1,15})は(?P<o>[^\s、。,はがを]{1,20})(?:です|である)(?!か)", Predicate.IS),
        (r"(?P<s>[^\s，。、,的不没]{1,12})(?:依赖于?|取决于)(?P<o>[^\s，。、,]{1,20})", Predicate.DEPENDS_ON),
        (r"(?P<s>[^\s，。、,的不没]{1,12})(?:使用|采用)(?P<o>[^\s，。、,的]{1,20})", Predicate.USES),
        (r"(?P<s>[^\s，。、,的不没]{1,12})(?:喜欢|偏好|爱)(?P<o>[^\s，。、,]{1,20})", Predicate.PREFERS),
        (r"(?P<s>[^\s，。、,的不没]{1,12})住在(?P<o>[^\s，。、,的]{1,20})", Predicate.LIVES_IN),
        (r"(?P<s>[^\s，。、,的不没]{1,12})在(?P<o>[^\s，。、,的]{1,20})(?:工作|上班)", Predicate.WORKS_AT),
        (
            r"(?P<s>[^\s，。、,的不没]{1,12})是(?:一个|一名|一种)?(?P<o>[^\s，。、,吗?？]{1,20})(?=[，。、,]|$)",
            Predicate.IS,
        ),
        (r"(?P<s>[가-힣\w]{1,15})[은는]\s(?P<o>[^\s]{1,20})[을를]\s(?:사용|쓴|쓰|이용)", Predicate.USES),
        (r"(?P<s>[가-힣\w]{1,15})[은는]\s(?P<o>[^\s]{1,20})[을를]\s좋아", Predicate.PREFERS),
        (r"(?P<s>[가-힣\w]{1,15})[은는]\s(?P<o>[^\s]{1,20})에\s(?:산다|살)", Predicate.LIVES_IN),
        (r"(?P<s>[가-힣\w]{1,15})[은는]\s(?P<o>[^\s]{1,20})에\s의존", Predicate.DEPENDS_ON),
    )
)
"""Statements in Japanese, Chinese and Korean."""

EAST_ASIAN_SCRIPT = re.compile("[ぁ-ヿ一-龥가-힣]")
EAST_ASIAN_SELF = {
    "私": USER,
    "僕": USER,
    "俺": USER,
    "我": USER,
    "나": USER,
    "저": USER,
    "我们": "we",
    "私たち": "we",
    "우리": "we",
}
