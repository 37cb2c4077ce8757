"""Reading a model's answer: whatever it is, nothing is made up and nothing is taken for silence."""

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.observation.drafts import Draft
from lamina.observation.parsing import LONGEST_TEXT, MOST_DRAFTS, parse_answer
from lamina.observation.types import EntryKind, Period, Priority, Status

TEA = '{"text": "User likes tea", "kind": "preference", "priority": "high", "status": "open", "sources": [3]}'
CATS = '{"text": "User has 2 cats", "kind": "fact", "sources": [4, 5]}'


def texts(answer: str) -> list[str]:
    return [draft.text for draft in parse_answer(answer).drafts]


def test_every_line_is_a_draft_with_all_its_fields() -> None:
    line = {
        "text": "User flies to Oslo",
        "kind": "event",
        "priority": "low",
        "status": "done",
        "sources": [7, 8],
        "refers_to": "2026-05-03",
        "replaces": ["r2"],
    }
    (draft,) = parse_answer(json.dumps(line)).drafts

    assert draft == Draft(
        text="User flies to Oslo",
        kind=EntryKind.EVENT,
        priority=Priority.LOW,
        status=Status.DONE,
        sources=(7, 8),
        made_from=draft.made_from,
        replaces=("r2",),
        refers_to=Period(first=date(2026, 5, 3), last=date(2026, 5, 3)),
    )


@pytest.mark.parametrize(
    "answer",
    [
        f"{TEA}\n{CATS}",
        f"```json\n{TEA}\n{CATS}\n```",
        f"Here are the notes:\n\n{TEA}\n{CATS}\n\nI hope this helps!",
        f"[{TEA},\n{CATS}]",
        f'{{"entries": [{TEA}, {CATS}]}}',
        f"- {TEA}\n- {CATS}",
        f"1. {TEA}\r\n2. {CATS}",
        f"{json.dumps(json.loads(TEA), indent=2)}\n{json.dumps(json.loads(CATS), indent=2)}",
        "{'text': 'User likes tea', 'sources': [3],}, {'text': 'User has 2 cats', 'sources': [4]}",
        f"{TEA} {CATS}",
    ],
    ids=["lines", "fence", "prose", "array", "wrapper", "list", "numbered", "indented", "python", "one line"],
)
def test_objects_are_found_whatever_stands_around_them(answer: str) -> None:
    assert texts(answer) == ["User likes tea", "User has 2 cats"]


def test_a_line_that_was_cut_off_is_reported_and_the_others_are_kept() -> None:
    answer = parse_answer(f'{TEA}\n{{"text": "User moved to Ber')

    assert [draft.text for draft in answer.drafts] == ["User likes tea"]
    assert answer.unreadable == ('not JSON: {"text": "User moved to Ber',)


def test_an_array_that_was_cut_off_keeps_its_whole_lines() -> None:
    assert texts(f'{{"entries": [{TEA}, {CATS}, {{"text": "User mov') == ["User likes tea", "User has 2 cats"]


def test_nothing_has_to_be_said() -> None:
    assert parse_answer('{"nothing": true}').nothing
    assert parse_answer('Sure:\n```\n{"nothing": true}\n```').nothing
    assert parse_answer('{"entries": []}').nothing


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   \n",
        "nothing",
        "There is nothing to record.",
        "{}",
        '{"nothing": false}',
        '{"nothing": "true"}',
        "[]",
        "null",
        '{"sources": []}',
        '{"nothing": true}\n{"text": "User mo',
        "{" * 50,
        "\x00\ufffe",
        '{"text": ""}',
        '{"text": 5}',
    ],
)
def test_what_cannot_be_read_is_never_nothing(answer: str) -> None:
    read = parse_answer(answer)

    assert not read.readable
    assert not read.nothing


def test_lines_count_more_than_the_word_nothing_beside_them() -> None:
    answer = parse_answer(f'{TEA}\n{{"nothing": true}}')

    assert len(answer.drafts) == 1
    assert not answer.nothing


def test_unknown_words_and_wrong_types_become_the_plainest_kind() -> None:
    (draft,) = parse_answer(
        '{"text": "x y", "kind": "opinion", "priority": 3, "status": null, "sources": {"a": 1}, "refers_to": "soon"}'
    ).drafts

    assert (draft.kind, draft.priority, draft.status) == (EntryKind.FACT, Priority.MEDIUM, Status.OPEN)
    assert draft.sources == ()
    assert draft.refers_to is None


@pytest.mark.parametrize(
    ("given", "sources"),
    [
        ("3", (3,)),
        ('"3"', (3,)),
        ('["#3", "[4]", 5.0]', (3, 4, 5)),
        ('"3-5"', (3, 4, 5)),
        ("[3, 3, 4]", (3, 4)),
        ("[true, null, [9], 1.5]", ()),
        ('"1-999999999"', (1, 999999999)),
        ("[-4]", (-4,)),
    ],
)
def test_sources_are_read_as_far_as_they_are_numbers(given: str, sources: tuple[int, ...]) -> None:
    (draft,) = parse_answer(f'{{"text": "x", "sources": {given}}}').drafts

    assert draft.sources == sources


@pytest.mark.parametrize(
    ("given", "first", "last"),
    [
        ('"2026-05-03"', date(2026, 5, 3), date(2026, 5, 3)),
        ('"2026-02"', date(2026, 2, 1), date(2026, 2, 28)),
        ('"2026-12"', date(2026, 12, 1), date(2026, 12, 31)),
        ('"2026-05-03/2026-05-05"', date(2026, 5, 3), date(2026, 5, 5)),
        ('["2026-05-03", "2026-05-05"]', date(2026, 5, 3), date(2026, 5, 5)),
        ('{"first": "2026-05-03", "last": "2026-05-05"}', date(2026, 5, 3), date(2026, 5, 5)),
    ],
)
def test_days_are_read_in_every_form(given: str, first: date, last: date) -> None:
    (draft,) = parse_answer(f'{{"text": "x", "refers_to": {given}}}').drafts

    assert draft.refers_to == Period(first=first, last=last)


@pytest.mark.parametrize("given", ['"2026-02-30"', '"2026-13"', '"2026-05-05/2026-05-03"', "5", '"tomorrow"'])
def test_days_that_there_are_not_are_no_days(given: str) -> None:
    (draft,) = parse_answer(f'{{"text": "x", "refers_to": {given}}}').drafts

    assert draft.refers_to is None


@pytest.mark.parametrize("period", [1, 2, 7, 150])
def test_a_model_in_a_loop_is_salvaged_whatever_the_length_of_its_loop(period: int) -> None:
    lines = [f'{{"text": "fact number {place}", "sources": [1]}}' for place in range(period)]
    answer = parse_answer("\n".join(lines * 20) + '\n{"text": "fact num')

    assert len(answer.drafts) == period
    assert answer.repeated == period * 19


def test_case_and_blanks_do_not_make_a_line_another_one() -> None:
    answer = parse_answer('{"text": "User likes tea"}\n{"text": "user  LIKES tea"}')

    assert len(answer.drafts) == 1


def test_thousands_of_lines_are_cut_and_the_cut_is_reported() -> None:
    answer = parse_answer("\n".join(f'{{"text": "fact {place}"}}' for place in range(5_000)))

    assert len(answer.drafts) == MOST_DRAFTS
    assert answer.unreadable == (f"more than {MOST_DRAFTS} lines",)


@pytest.mark.parametrize("length", [LONGEST_TEXT + 1, 30_000, 300_000])
def test_a_line_of_enormous_length_is_reported_and_costs_no_other(length: int) -> None:
    answer = parse_answer(f'{TEA}\n{{"text": "{"x" * length}"}}\n{CATS}')

    assert [draft.text for draft in answer.drafts] == ["User likes tea", "User has 2 cats"]
    assert len(answer.unreadable) == 1
    assert len(answer.unreadable[0]) < 200


def test_a_text_becomes_one_line_without_what_nobody_sees() -> None:
    (draft,) = parse_answer(json.dumps({"text": "- User\n\tlikes\u200b tea\x00\u2028and\ufeff cake"})).drafts

    assert draft.text == "User likes tea and cake"


def test_a_lone_surrogate_does_not_survive() -> None:
    (draft,) = parse_answer('{"text": "half \\ud83d a smile"}').drafts

    draft.text.encode()


@pytest.mark.parametrize("answer", ['{"a":' * 50_000, "[" * 100_000, "{" * 100_000, '{"a":[' * 50_000, '"' * 100_000])
def test_hostile_nesting_is_read_in_no_time_and_says_nothing(answer: str) -> None:
    assert not parse_answer(answer).readable


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    answer = parse_answer(text)

    assert answer == parse_answer(text)
    assert not (answer.nothing and answer.drafts)


_lines = st.lists(
    st.fixed_dictionaries(
        {"text": st.text(min_size=1, max_size=60), "sources": st.lists(st.integers(0, 99), max_size=4)}
    ),
    max_size=8,
)


@settings(deadline=None)
@given(_lines, st.sampled_from(["\n", "\n\n", " ", ",\n", "\nand then\n"]))
def test_what_was_written_as_asked_is_read_as_it_was_written(lines: list[dict[str, object]], between: str) -> None:
    alone = [draft for line in lines for draft in parse_answer(json.dumps(line)).drafts]
    read = parse_answer(between.join(json.dumps(line) for line in lines))

    assert set(read.drafts) <= set(alone)
    assert len(read.drafts) + read.repeated == len(alone)
