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
    assert "## Conversation Memory\n### Recent Observations\n" in text
    assert "### Summary" not in text


def test_the_newest_notes_stay_and_none_does_when_summaries_do_not_fit() -> None:
    notes = [item(ContextLayer.OBSERVATIONS, f"o{number}", f"Note {number}.", minutes=number) for number in range(40)]
    made = assemble(BASE, {ContextLayer.OBSERVATIONS: notes}, budget_tokens=120)
    kept = [placed.item.key for placed in made.placed]
    assert kept == [f"o{number}" for number in range(40 - len(kept), 40)]
    summaries = [item(ContextLayer.REFLECTIONS, f"r{number}", "Sum of it all.", minutes=number) for number in range(40)]
    made = assemble(BASE, {ContextLayer.OBSERVATIONS: notes, ContextLayer.REFLECTIONS: summaries}, budget_tokens=150)
    assert {placed.item.layer for placed in made.placed} == {ContextLayer.REFLECTIONS}


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
        one, other = (assemble(BASE, by_place(order), budget_tokens=budget) for order in (items, shuffled))
        assert one.text == other.text


def test_the_same_finds_with_other_scores_are_the_same_bytes() -> None:
    before = [item(key=key, score=score) for key, score in (("a", 0.9), ("b", 0.1))]
    after = [item(key=key, score=score) for key, score in (("b", 0.8), ("a", 0.2))]
    assert assemble(BASE, by_place(before)).text == assemble(BASE, by_place(after)).text


@given(found, st.integers(1, 900))
def test_the_budget_is_never_exceeded(items: list[ContextItem], budget: int) -> None:
    made = assemble(BASE, by_place(items), budget_tokens=budget)
    assert made.text.startswith(BASE)
    assert estimate_tokens(made.text[len(BASE) :]) <= made.added_tokens <= budget
    assert len(made.placed) + len(made.cut) == len(items)


@given(found, st.integers(1, 300))
def test_the_budget_holds_for_a_tokenizer_that_does_not_add_up(items: list[ContextItem], budget: int) -> None:
    def count(text: str) -> int:
        return len(text) // 3 + (7 if len(text) > 100 else 0)

    made = assemble(BASE, by_place(items), budget_tokens=budget, count=count)
    assert made.text == BASE or count(made.text[len(BASE) :]) <= budget


@given(found, st.integers(1, 400))
def test_only_whole_items_are_in_the_prompt(items: list[ContextItem], budget: int) -> None:
    whole = assemble(BASE, by_place(items)).text.split("\n")
    for line in assemble(BASE, by_place(items), budget_tokens=budget).text.split("\n"):
        assert line in whole


@given(found)
def test_a_larger_budget_never_says_less_in_all(items: list[ContextItem]) -> None:
    everything = assemble(BASE, by_place(items))
    enough = assemble(BASE, by_place(items), budget_tokens=max(everything.added_tokens, 1))
    assert everything.text == enough.text == assemble(BASE, by_place(items), budget_tokens=10**9).text
    assert not everything.cut


def test_a_budget_of_one_token_leaves_the_base_and_reports_everything() -> None:
    made = assemble(BASE, ONE_OF_EACH, budget_tokens=1)
    assert made.text == BASE
    assert {cut.budget for cut in made.cut} == {"total"}
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
