"""Text that breaks programs is stored exactly, or refused with a code, and nothing is lost either way."""

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lamina.sync
from lamina.errors import ContentTooLongError, InvalidInputError
from lamina.sync import SyncApp

pytestmark = pytest.mark.anyio

NASTY = [
    "'; DROP TABLE memory; --",
    '" OR 1=1 --',
    "%s %d {0} {{x}} ${HOME} `id` $(id)",
    'NEAR(a, b) AND NOT c* OR ^d "e',
    "\\x00 \\u0000 \\ud800 written out",
    "\u202eright to left override\u202c",
    "שלום עולם، مرحبا بالعالم",
    "東京は日本の首都です。 北京 서울",
    "e\u0301 against \u00e9, \ufb01 ligature, \u212b ngstrom",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "Z̸̡̢a̴l̵g̶o̷",
    "\ufeffbyte order mark, \u200bzero width, \u00a0no break",
    "tab\tnew\nline\r\ncarriage\rreturn \x01\x02\x7f\x85",
    "<script>alert(1)</script> <!-- ]]> &amp;",
    "../../../../etc/passwd",
    "undefined null NaN Infinity -0 1e309 0x1F",
    "a" * 50_000,
    " leading and trailing ",
    "\U0010ffff\U0001f600",
]


@pytest.fixture
def blocking_app(store_url: str) -> Iterator[SyncApp]:
    with lamina.sync.open(store_url) as app:
        yield app


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
async def test_nasty_text_is_stored_exactly_and_can_be_searched_for(store_url: str, text: str) -> None:
    async with lamina.open(store_url) as app:
        added = await app.memory.add(text, user_id="ann", tags=[text[:50].strip()], metadata={text[:50]: text[:50]})
        stored = await app.memory.get(added.id, user_id="ann")
        assert stored is not None
        assert stored.content == text
        assert stored.tags == (text[:50].strip(),)
        assert stored.metadata == {text[:50]: text[:50]}
        await app.memory.search(text[:5_000], user_id="ann", threshold=0)
        found = await app.memory.search(text[:5_000], user_id="ann", threshold=0, tags=[text[:50].strip()])
        assert [hit.id for hit in found] == [added.id]


@pytest.mark.parametrize("text", ["NUL \x00 inside", "lone \ud800 surrogate", "\udfff", "", "  \n "])
async def test_text_that_cannot_be_stored_is_refused_with_a_code(store_url: str, text: str) -> None:
    async with lamina.open(store_url) as app:
        kept = await app.memory.add("stays", user_id="ann")
        with pytest.raises(InvalidInputError) as refused:
            await app.memory.add(text, user_id="ann")
        assert refused.value.code == "INVALID_INPUT"
        with pytest.raises(InvalidInputError):
            await app.memory.update(kept.id, content=text, user_id="ann")
        stored = await app.memory.get(kept.id, user_id="ann")
        assert stored is not None
        assert stored.content == "stays"
        assert (await app.memory.list(user_id="ann")).total_count == 1


async def test_ten_megabytes_are_refused_with_the_longest_length_that_is_stored(store_url: str) -> None:
    async with lamina.open(store_url) as app:
        with pytest.raises(ContentTooLongError) as refused:
            await app.memory.add("x" * 10_000_000, user_id="ann")
        assert refused.value.details == {"max_length": 100_000, "length": 10_000_000}


async def test_ten_megabytes_are_stored_exactly_where_the_setting_allows_it(store_url: str) -> None:
    text = "the harbour at night " * 500_000
    async with lamina.open(store_url, memory={"max_content_length": 20_000_000}) as app:
        added = await app.memory.add(text, user_id="ann")
        stored = await app.memory.get(added.id, user_id="ann")
        assert stored is not None
        assert stored.content == text
        assert [hit.id for hit in await app.memory.search("harbour at night", user_id="ann")] == [added.id]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=200))
def test_any_text_is_stored_exactly_or_refused(blocking_app: SyncApp, text: str) -> None:
    memory = blocking_app.memory.scoped(user_id="ann")
    try:
        added = memory.add(text)
    except InvalidInputError:
        unstorable = "\x00" in text or any(unicodedata.category(character) == "Cs" for character in text)
        assert unstorable or not text.strip()
        return
    stored = memory.get(added.id)
    assert stored is not None
    assert stored.content == text
    memory.search(text, threshold=0)
