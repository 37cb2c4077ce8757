"""The prompt: sections, order, budget, bytes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from lamina.context.assemble import PARTS, PREAMBLE, assemble
from lamina.context.types import ContextItem, ContextLayer, Origin, Place, Semantic
from lamina.kernel.tokens import estimate_tokens
from tests.context.samples import PLACES, item

BASE = "You are a helpful agent."
ONE_OF_EACH: dict[Place, list[ContextItem]] = {
    place: [item(place, f"{place}-key", f"About {place}.")] for place in PLACES
}

words = st.lists(
    st.sampled_from(["deploy", "the", "web", "猫", "app", "# x", "````", "\n", "ключ"]), min_size=1, max_size=30
)
found = st.lists(
    st.builds(
        item,
        st.sampled_from(PLACES),
        st.text(alphabet="abc", min_size=1, max_size=3),
        words.map(" ".join),
        score=st.floats(0, 1),
        origin=st.sampled_from(Origin),
        minutes=st.integers(0, 100),
    ),
    max_size=30,
)


def by_place(items: list[ContextItem]) -> dict[Place, list[ContextItem]]:
    """Items as a retrieval gives them."""
    sorted_out: dict[Place, list[ContextItem]] = {}
    for one in items:
        sorted_out.setdefault(one.layer, []).append(one)
    return sorted_out


@pytest.mark.requirement("context.prompt.nothing-retrieved")
@pytest.mark.parametrize("base", [BASE, "", "with a line\n", "\n\n"])
def test_without_items_the_prompt_is_the_base(base: str) -> None:
    for nothing in ({}, dict.fromkeys(PLACES, ())):
        made = assemble(base, nothing)
        assert made.text == base
        assert made.added_tokens == 0


@pytest.mark.requirement("context.prompt.sections")
@pytest.mark.parametrize(
    ("layer", "heading"),
    [
        (ContextLayer.RUNTIME_CONTEXT, "## Runtime Context"),
        (ContextLayer.TOOL_REGISTRY, "## Available Tools"),
        (ContextLayer.USER_KNOWLEDGE, "## User Knowledge"),
        (ContextLayer.AGENT_LEARNINGS, "## Known Solutions"),
        (ContextLayer.SKILL_PATTERNS, "## Available Skills"),
        (ContextLayer.EXTERNAL_KNOWLEDGE, "## External References"),
    ],
)
def test_a_layer_with_items_has_its_section_and_no_other(layer: ContextLayer, heading: str) -> None:
    text = assemble(BASE, {layer: ONE_OF_EACH[layer]}).text
    assert [line for line in text.splitlines() if line.startswith("#")] == [heading]
    assert f"About {layer}." in text


@pytest.mark.requirement("context.prompt.section-order", "context.prompt.conversation-memory")
def test_the_order_is_fixed_whatever_order_the_layers_come_in() -> None:
    headings = snapshot(
        [
            "## Runtime Context",
            "## Available Tools",
            "## User Knowledge",
            "## Known Solutions",
            "## Available Skills",
            "## External References",
            "## Semantic Context (RAG)",
            "### Earlier Messages",
            "## Graph-Expanded Context",
            "## Conversation Memory",
            "### Summary",
            "### Recent Observations",
        ]
    )
    for seed in range(5):
        places = list(PLACES)
        random.Random(seed).shuffle(places)
        text = assemble(BASE, {place: ONE_OF_EACH[place] for place in places}).text
        assert [line for line in text.splitlines() if line.startswith("#")] == headings


@pytest.mark.requirement("context.prompt.conversation-memory")
def test_reflections_come_before_observations_and_notes_are_shown_oldest_first() -> None:
    notes = [item(ContextLayer.OBSERVATIONS, f"o{number}", f"Note {number}.", minutes=number) for number in (3, 1, 2)]
    text = assemble(
        BASE,
        {ContextLayer.OBSERVATIONS: notes, ContextLayer.REFLECTIONS: [item(ContextLayer.REFLECTIONS, "r", "Sum.")]},
    ).text
    places = [text.index(part) for part in ("Sum.", "Note 1.", "Note 2.", "Note 3.")]
    assert places == sorted(places)
    assert text.count("## Conversation Memory") == 1


def test_observations_alone_have_the_heading_too() -> None:
    text = assemble(BASE, {ContextLayer.OBSERVATIONS: [item(ContextLayer.OBSERVATIONS, "o", "Note.")]}).text
    assert text.index("## Conversation Memory\n") < text.index("### Recent Observations\n")
    assert "### Summary" not in text


def test_a_reader_is_told_once_what_notes_are() -> None:
    told = "What was said earlier in this conversation, as notes."
    for places, times in (((ContextLayer.REFLECTIONS, ContextLayer.OBSERVATIONS), 1), ((Semantic.MEMORY,), 0)):
        assert assemble(BASE, {place: ONE_OF_EACH[place] for place in places}).text.count(told) == times


NOTES = [item(ContextLayer.OBSERVATIONS, f"o{number}", f"Note {number}.", minutes=number) for number in range(40)]
SUMMARIES = [item(ContextLayer.REFLECTIONS, f"r{number}", "Sum of it all.", minutes=number) for number in range(40)]


def test_the_newest_notes_stay() -> None:
    made = assemble(BASE, {ContextLayer.OBSERVATIONS: NOTES}, memory_budget_tokens=120)
    kept = [placed.item.key for placed in made.placed]
    assert 1 < len(kept) < 40
    assert kept == [f"o{number}" for number in range(40 - len(kept), 40)]
    assert {cut.budget for cut in made.cut} == {"memory"}


@pytest.mark.requirement("observation.budget.reflections-exceed")
def test_reflections_that_do_not_fit_leave_no_room_for_observations() -> None:
    made = assemble(BASE, by_place([*NOTES, *SUMMARIES]), memory_budget_tokens=150)
    kept = [placed.item.key for placed in made.placed]
    assert kept == [f"r{number}" for number in range(40 - len(kept), 40)]
    assert kept
    assert made.memory_tokens <= 150
    assert {cut.budget for cut in made.cut} == {"memory"}
    assert len(made.cut) == 80 - len(kept)


@pytest.mark.requirement("observation.budget.shared")
def test_observations_fill_what_reflections_leave_and_stop_before_the_one_that_would_exceed_it() -> None:
    long = item(ContextLayer.OBSERVATIONS, "long", "word " * 100, minutes=38)
    found = by_place([SUMMARIES[0], SUMMARIES[1], NOTES[37], long, NOTES[39]])
    made = assemble(BASE, found, memory_budget_tokens=150)
    assert [placed.item.key for placed in made.placed] == ["r0", "r1", "o39"]
    assert [(cut.item.key, cut.budget) for cut in made.cut] == [("long", "memory"), ("o37", "memory")]


def test_what_was_found_and_what_was_noted_have_a_budget_each() -> None:
    facts = [item(key=f"k{number}", content=f"Fact {number}.") for number in range(40)]
    items = by_place([*facts, *NOTES])
    alone = assemble(BASE, by_place(facts), budget_tokens=150)
    both = assemble(BASE, items, budget_tokens=150, memory_budget_tokens=200)
    assert len(both.placed) > len(alone.placed)
    assert both.memory_tokens <= 200
    assert both.added_tokens - both.memory_tokens - estimate_tokens("\n\n" + PREAMBLE) <= 150
    assert len(assemble(BASE, items, budget_tokens=1, memory_budget_tokens=0).placed) == 40
    assert len(assemble(BASE, items, budget_tokens=0, memory_budget_tokens=1).placed) == 40


def test_memory_can_stand_before_what_is_searched_for_anew() -> None:
    text = assemble(BASE, ONE_OF_EACH, memory_first=True).text
    headings = [line.strip("# ") for line in text.splitlines() if line.startswith("#")]
    assert headings[:5] == [
        "Runtime Context",
        "Conversation Memory",
        "Summary",
        "Recent Observations",
        "Available Tools",
    ]
    assert sorted(text.splitlines()) == sorted(assemble(BASE, ONE_OF_EACH).text.splitlines())


def test_a_heading_that_two_sections_share_stands_even_when_the_first_has_no_room() -> None:
    found = [item(Semantic.MEMORY, "m", "word " * 500), item(Semantic.MESSAGE, "s", "Said.")]
    text = assemble(BASE, by_place(found), budget_tokens=200).text
    assert "## Semantic Context (RAG)\n### Earlier Messages\n" in text
    assert "word" not in text


def test_a_prompt_as_a_model_sees_it() -> None:
    made = assemble(
        BASE,
        {
            ContextLayer.TOOL_REGISTRY: [item(ContextLayer.TOOL_REGISTRY, "deploy", "Deploys.", origin=Origin.HOST)],
            ContextLayer.USER_KNOWLEDGE: [item(key="friday", content="Never on Friday.", category="rule")],
            Semantic.MEMORY: [item(Semantic.MEMORY, "1", "Prefers dark mode", category="user")],
        },
    )
    assert made.text.replace(PREAMBLE, "(preamble)\n") == snapshot(
        """\
You are a helpful agent.

(preamble)

## Available Tools
````text
- **deploy**: Deploys.
````

## User Knowledge
````text
- (user said) [rule] friday: Never on Friday.
````

## Semantic Context (RAG)
````text
- (user said) [user] Prefers dark mode
````
"""
    )


@given(found, st.randoms())
def test_equal_input_gives_equal_bytes_in_whatever_order_it_comes(
    items: list[ContextItem], chance: random.Random
) -> None:
    shuffled = list(items)
    chance.shuffle(shuffled)
    for budget in (0, 200):
        one, other = (
            assemble(BASE, by_place(order), budget_tokens=budget, memory_budget_tokens=budget)
            for order in (items, shuffled)
        )
        assert one.text == other.text


def test_the_same_finds_with_other_scores_are_the_same_bytes() -> None:
    before = [item(key=key, score=score) for key, score in (("a", 0.9), ("b", 0.1))]
    after = [item(key=key, score=score) for key, score in (("b", 0.8), ("a", 0.2))]
    assert assemble(BASE, by_place(before)).text == assemble(BASE, by_place(after)).text


@given(found, st.integers(1, 900), st.integers(1, 900), st.booleans())
def test_no_budget_is_ever_exceeded(items: list[ContextItem], budget: int, memory: int, first: bool) -> None:
    made = assemble(BASE, by_place(items), budget_tokens=budget, memory_budget_tokens=memory, memory_first=first)
    assert made.text.startswith(BASE)
    opening = estimate_tokens("\n\n" + PREAMBLE) if made.memory_tokens else 0
    assert made.memory_tokens + opening <= memory
    assert made.added_tokens - made.memory_tokens - opening <= budget
    assert estimate_tokens(made.text[len(BASE) :]) <= made.added_tokens
    assert len(made.placed) + len(made.cut) == len(items)


@given(found, st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_budgets_hold_for_a_tokenizer_that_does_not_add_up(
    items: list[ContextItem], budget: int, memory: int, first: bool
) -> None:
    def count(text: str) -> int:
        return len(text) // 3 + (7 if len(text) > 100 else 0)

    made = assemble(
        BASE, by_place(items), budget_tokens=budget, memory_budget_tokens=memory, memory_first=first, count=count
    )
    texts = [text for text, _ in made.pieces]
    begin, end = made.memory
    noted = "".join([texts[1], *texts[begin:end]]) if end else ""
    found = "".join([*texts[2:begin], *texts[end:]] if end else texts[1:])
    assert BASE + "".join(texts[1:]) == made.text
    assert not noted or count(noted) <= memory
    assert not found or count(found) <= budget


@given(found, st.integers(1, 400))
def test_only_whole_items_are_in_the_prompt(items: list[ContextItem], budget: int) -> None:
    whole = assemble(BASE, by_place(items)).text.split("\n")
    for line in assemble(BASE, by_place(items), budget_tokens=budget, memory_budget_tokens=budget).text.split("\n"):
        assert line in whole


@given(found)
def test_a_larger_budget_never_says_less_in_all(items: list[ContextItem]) -> None:
    everything = assemble(BASE, by_place(items))
    most = max(everything.added_tokens, 1)
    enough = assemble(BASE, by_place(items), budget_tokens=2 * most, memory_budget_tokens=2 * most)
    assert everything.text == enough.text == assemble(BASE, by_place(items), budget_tokens=10**9).text
    assert not everything.cut


def test_a_budget_of_one_token_leaves_the_base_and_reports_everything() -> None:
    made = assemble(BASE, ONE_OF_EACH, budget_tokens=1, memory_budget_tokens=1)
    assert made.text == BASE
    assert {cut.budget for cut in made.cut} == {"total", "memory"}
    assert len(made.cut) == len(PARTS)


def test_the_most_relevant_items_stay() -> None:
    many = [item(key=f"k{number:02}", content=f"Fact {number} about it.", score=number / 100) for number in range(50)]
    made = assemble(BASE, by_place(many), budget_tokens=300)
    kept = {placed.item.key for placed in made.placed}
    assert kept == {f"k{number:02}" for number in range(50 - len(kept), 50)}
    assert 5 < len(kept) < 50
    assert {cut.budget for cut in made.cut} == {"share"}


def test_an_item_larger_than_the_whole_budget_says_so() -> None:
    made = assemble(BASE, by_place([item(content="word " * 2000), item(key="small")]), budget_tokens=200)
    assert [(cut.item.content[:4], cut.budget) for cut in made.cut] == [("word", "total")]
    assert [placed.item.key for placed in made.placed] == ["small"]


def test_the_preamble_stands_once_and_only_with_context() -> None:
    assert assemble(BASE, ONE_OF_EACH).text.count(PREAMBLE) == 1
    assert assemble("", ONE_OF_EACH).text.startswith(PREAMBLE)


def test_the_tokens_of_a_receipt_add_up() -> None:
    made = assemble(BASE, ONE_OF_EACH)
    opening = estimate_tokens("\n\n" + PREAMBLE)
    assert made.added_tokens == opening + sum(section.tokens for section in made.sections)
    assert "".join(text for text, _ in made.pieces) == made.text
    assert {section.name for section in made.sections} == {part.name for part in PARTS}
