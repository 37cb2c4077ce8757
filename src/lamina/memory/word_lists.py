"""The closed lists of what changes nothing in a sentence. `wording` says how they are used."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    rows = (row.split(": ") for row in text.strip().splitlines())
    return {short.strip(): long for short, long in rows}


def _first_of_row(text: str) -> dict[str, str]:
    return {word: row.split()[0] for row in text.strip().split(";") for word in row.split()}


ARTICLES = _words("a an the")
EMPTY = ARTICLES | _words("is are am be and that please really very also")

NOT_AFTER_ARTICLE = EMPTY | _words("or was were has have will to in on of for with at by from")
"""`option a is best`: before these, `a` is a letter and not an article."""

HOLDS_COMMA = _words("no yes not never nothing none")
"""A comma after these changes what is denied: `no, sugar` and `no sugar`."""

LEADS = _words("on in at when if for after before since during by while whenever every until unless")
"""What opens a clause that may stand first, with a comma, or last."""

OFTEN_AT_START = LEADS | _words(
    """
    i we you he she it they my our your his her its their this these there
    user users team teams customer customers client clients agent assistant project company developer developers
    server app application service database build pipeline repository repo deploy deployment meeting release
    """
)
"""Words that are no names when only the start of a sentence gives them a capital."""

CONTRACTIONS = _pairs(
    """
    can't: can not
    cannot: can not
    won't: will not
    shan't: shall not
    ain't: is not
    dont: do not
    doesnt: do not
    doesn't: do not
    does: do
    didnt: did not
    isnt: is not
    arent: are not
    wasnt: was not
    it's: it is
    he's: he is
    she's: she is
    i'm: i am
    that's: that is
    there's: there is
    what's: what is
    who's: who is
    let's: let us
    &: and
    """
)
ENDINGS = (("n't", "not"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"), ("'s", "'s"))

SAME = _first_of_row(
    """
    0 zero; 1 one; 2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven; 12 twelve;
    20 twenty; 30 thirty; 40 forty; 50 fifty; 100 hundred; 1000 thousand; 1st first; 2nd second; 3rd third;
    have has; ok okay; use utilize utilise; uses utilizes utilises;
    color colour; favorite favourite; behavior behaviour; organize organise; center centre; gray grey; license licence;
    app application; apps applications; repo repository; db database; config configuration; env environment;
    docs documentation; info information; folder directory; javascript js; typescript ts; kubernetes k8s;
    postgresql postgres; minute min; minutes mins; hour hr; hours hrs
    """
)
"""Other spellings and abbreviations of one word, and small numbers in letters."""
