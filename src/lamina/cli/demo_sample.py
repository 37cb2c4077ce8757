"""What the demo stores and asks: a made-up conversation in a made-up shop, and the rules of three layers."""

from datetime import UTC, datetime, timedelta

from lamina.memory.types import Identifiers, NewMemory, Source

TENANT = "demo"
ANA = Identifiers(user_id="ana")
SHOP = Identifiers(project_id="shop")
STOREFRONT = Identifiers(team_id="storefront")
ACME = Identifiers(company_id="acme")

_START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_TURNS = (
    ("Ana", "Morning Ben! The checkout fails for customers in Norway since the last release."),
    ("Ben", "I saw it. The currency service rounds the krone to whole numbers, so the totals differ by a few øre."),
    ("Ana", "Can we ship a fix this week? Support already has eleven tickets about it."),
    ("Ben", "Yes, I have a patch. It needs a second reviewer, and I would like a test with all twelve currencies."),
    ("Ana", "I will review it after lunch. I am at the dentist until noon."),
    ("Ben", "Thanks. By the way, my daughter Mia starts school in August, so I am away the first week."),
    ("Ana", "Congratulations to Mia! I will put the holiday in the team calendar."),
    ("Ben", "And the photos of the new winter jackets are finally here, they are in the shared drive."),
)

CONVERSATION = [
    NewMemory(
        content=f"{author}: {text}",
        identifiers=ANA,
        source=Source(
            kind="conversation",
            conversation="monday chat",
            sequence=number,
            author=author,
            said_at=_START + timedelta(minutes=number),
        ),
    )
    for number, (author, text) in enumerate(_TURNS)
]
RULES = [
    NewMemory(content="Ana prefers short answers with the code first.", identifiers=ANA, tags=["style"]),
    NewMemory(
        content="Deploy the shop on Tuesdays, right after the smoke tests.",
        layer="project",
        identifiers=SHOP,
        tags=["rule"],
    ),
    NewMemory(
        content="The shop's database is PostgreSQL 18; prices are stored in cents.", layer="project", identifiers=SHOP
    ),
    NewMemory(
        content="Deploy only what a second person has reviewed.", layer="team", identifiers=STOREFRONT, tags=["rule"]
    ),
    NewMemory(
        content="Deploy the shop on Tuesdays, right after the smoke tests!",
        layer="team",
        identifiers=STOREFRONT,
        tags=["rule"],
    ),
    NewMemory(content="Nobody may deploy on a Friday.", layer="company", identifiers=ACME, tags=["rule"]),
    NewMemory(
        content="Customer names and addresses never leave the EU.", layer="company", identifiers=ACME, tags=["rule"]
    ),
]

QUESTIONS = (
    ("When may we deploy the shop?", "Three layers answer: the project before the team before the company."),
    ("What is wrong with the checkout in Norway?", "The bars show which signal gave which part of a score."),
    ("When does Mia start school?", "A turn of a conversation keeps its author and its time."),
    ("How are prices stored in the database?", "A fact about the project, and no rule in the way."),
    ("How do volcanoes form?", "Nothing stored has to do with it, so nothing is returned."),
)
