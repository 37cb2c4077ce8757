"""What no reflection may lose."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.pins import Condensed, lost_pins, put_back, supersedes
from lamina.observation.types import Entry, EntryKind, Speaker, Status
from tests.observation.samples import entry

TEA = entry("User prefers tea with milk", kind=EntryKind.PREFERENCE, sources=[1])
NO_TEA = entry("User prefers coffee now instead of tea", kind=EntryKind.PREFERENCE, sources=[8], minutes=8)
DEPLOY = entry("Deploy v2 to eu-west-1", kind=EntryKind.TASK, sources=[3], minutes=3)
FACT = entry("The sky was grey", sources=[2])


def made(
    text: str, *ids: str, replaces: tuple[str, ...] = (), kind: EntryKind = EntryKind.PREFERENCE, **fields: object
) -> Condensed:
    one = entry(text, kind=kind, **fields)  # type: ignore[arg-type]
    return Condensed(entry=one, made_from=ids, replaces=replaces)


def test_a_pinned_entry_that_nobody_cites_is_lost() -> None:
    assert lost_pins({"e1": TEA, "e2": FACT, "e3": DEPLOY}, [made("The sky was grey", "e2", kind=EntryKind.FACT)]) == (
        "e1",
        "e3",
    )


def test_an_entry_that_is_carried_on_is_not_lost() -> None:
    assert lost_pins({"e1": TEA}, [made("User prefers tea, with milk", "e1")]) == ()
    assert (
        lost_pins(
            {"e1": TEA, "e2": NO_TEA}, [made("User prefers tea with milk; coffee now instead of tea", "e1", "e2")]
        )
        == ()
    )


def test_to_cite_an_entry_is_not_to_carry_it() -> None:
    assert lost_pins({"e1": TEA}, [made("User has preferences", "e1")]) == ("e1",)
    assert lost_pins({"e3": DEPLOY}, [made("Deploy v2 somewhere", "e3", kind=EntryKind.TASK)]) == ("e3",)
    assert lost_pins({"e1": TEA}, [made("User never prefers tea with milk", "e1")]) == ("e1",)


def test_a_line_that_binds_nobody_does_not_carry_a_rule() -> None:
    assert lost_pins({"e1": TEA}, [made("User prefers tea with milk", "e1", kind=EntryKind.FACT)]) == ("e1",)


def test_a_later_entry_on_the_same_thing_supersedes() -> None:
    newer = [made("User prefers coffee now instead of tea", "e2", replaces=("e1",))]

    assert lost_pins({"e1": TEA, "e2": NO_TEA}, newer) == ()


def test_the_models_word_alone_supersedes_nothing() -> None:
    earlier = entry("User prefers coffee to tea", kind=EntryKind.PREFERENCE, sources=[0])
    unrelated = entry("User bought a boat", sources=[9])
    tool = entry("Users should drink coffee instead of tea", origin=Speaker.TOOL, sources=[9])

    for other in (earlier, unrelated, tool):
        claim = [made(other.text, "e2", replaces=("e1",))]
        assert lost_pins({"e1": TEA, "e2": other}, claim) == ("e1",)
    assert lost_pins({"e1": TEA}, [made("User prefers tea", "e1", replaces=("e1",))]) == ("e1",)


def test_a_superseder_is_later_on_the_same_thing_and_trusted_as_much() -> None:
    assert supersedes(NO_TEA, TEA)
    assert not supersedes(TEA, NO_TEA)
    assert not supersedes(entry("User prefers coffee", kind=EntryKind.PREFERENCE, sources=[9]), TEA)
    assert not supersedes(entry("Tea is better without milk", origin=Speaker.ASSISTANT, sources=[9]), TEA)


def test_a_task_may_become_one_that_is_done() -> None:
    done = made("Deploy v2 to eu-west-1 succeeded", "e3", kind=EntryKind.TASK, status=Status.DONE)

    assert lost_pins({"e3": DEPLOY}, [done]) == ()


def test_what_was_superseded_before_is_not_pinned() -> None:
    old = entry("User prefers tea", kind=EntryKind.PREFERENCE, status=Status.SUPERSEDED)

    assert lost_pins({"e1": old}, []) == ()


def test_equal_entries_come_back_as_one_with_all_sources() -> None:
    again = entry(
        "user prefers  tea with milk", kind=EntryKind.PREFERENCE, sources=[5], origin=Speaker.ASSISTANT, minutes=5
    )
    (back,) = put_back([TEA, again])

    assert back.text == TEA.text
    assert back.sources == (1, 5)
    assert back.said_at == TEA.said_at
    assert back.origin is Speaker.ASSISTANT


_entries = st.lists(
    st.builds(
        entry,
        st.sampled_from(["User prefers tea", "Never deploy on Friday", "We chose Redis", "Call Ann at 9", "It rained"]),
        kind=st.sampled_from(list(EntryKind)),
        status=st.sampled_from(list(Status)),
        sources=st.lists(st.integers(1, 50), min_size=1, max_size=3),
        minutes=st.integers(0, 99),
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(_entries, st.data())
def test_no_pinned_words_are_ever_lost_without_a_later_source(entries: list[Entry], data: st.DataObject) -> None:
    inputs = {f"e{place}": one for place, one in enumerate(entries, 1)}
    lines = [
        Condensed(
            entry=entry(
                data.draw(st.sampled_from(["User prefers tea", "Everything is fine", "Never deploy on Friday"]))
            ),
            made_from=tuple(data.draw(st.lists(st.sampled_from(list(inputs)), min_size=1, max_size=4, unique=True))),
            replaces=tuple(data.draw(st.lists(st.sampled_from(list(inputs)), max_size=4, unique=True))),
        )
        for _ in range(data.draw(st.integers(0, 3)))
    ]
    lost = set(lost_pins(inputs, lines))
    for id, one in inputs.items():
        if not one.pinned or id in lost:
            continue
        later = any(
            id in line.replaces and any(supersedes(inputs[new], one) for new in line.made_from) for line in lines
        )
        carried = any(id in line.made_from and line.entry.pinned for line in lines)
        assert later or carried
