"""What a model is shown, to the letter."""

from datetime import date

import pytest

from lamina.llm.fence import fenced
from lamina.observation import observer_prompt, reflector_prompt
from lamina.observation.drafts import Draft
from lamina.observation.loss import find_missing
from lamina.observation.transcript import LONGEST_RETURNED, LONGEST_SAID, shorten, show_messages, write_transcript
from lamina.observation.types import EntryKind, Speaker
from lamina.session.types import Attachment, MessageKind, Role, ToolCall, ToolResult
from tests.observation.samples import entry
from tests.observation.talk import HOLIDAY, assistant, message, returned

TRANSCRIPT = """\
[1] Fri 2026-05-01 14:31 user Ann
| Where is it?
| # not a heading
[2] Fri 2026-05-01 14:32 assistant
| Let me see.
| (calls search with {"q": "it"})
[3] Fri 2026-05-01 14:33 tool
| (search failed:)
| timeout after 30 s
[5] Fri 2026-05-01 14:35 user
| (attaches plan.pdf, application/pdf)"""


def test_a_transcript_shows_who_said_what_when_and_what_tools_did() -> None:
    shown = show_messages(
        [
            message(1, "Where is it?\n# not a heading", author="Ann"),
            assistant(2, "Let me see.", ToolCall(id="c2", name="search", arguments='{"q": "it"}')),
            message(
                3, "", role=Role.TOOL, parts=[ToolResult(call_id="c2", content="timeout after 30 s", is_error=True)]
            ),
            message(4, "You are a helpful assistant.", role=Role.SYSTEM),
            message(5, "", parts=[Attachment(media_type="application/pdf", name="plan.pdf")]),
            message(5, "Messages 1 to 4 are in Conversation Memory.", kind=MessageKind.SUMMARY, role=Role.SYSTEM),
        ]
    )

    assert write_transcript(shown) == TRANSCRIPT


def test_texts_are_shortened_with_a_mark_that_says_how_much_is_missing() -> None:
    assert shorten("a" * 10, 10) == "a" * 10
    assert shorten("a" * 60 + "z" * 40, 40) == "a" * 30 + "\n[... 60 characters left out ...]\n" + "z" * 10
    (said, given) = show_messages([message(1, "x" * 99_999), returned(2, "y" * 99_999)])
    assert LONGEST_SAID < len(said.said) < LONGEST_SAID + 50
    assert LONGEST_RETURNED < len(given.returned) < LONGEST_RETURNED + 80


def test_a_model_is_held_only_to_what_it_was_shown() -> None:
    (given,) = show_messages(
        [returned(1, "begin " + "word " * 9_999 + "hidden-in-the-middle " + "word " * 9_999 + "end")]
    )

    assert not any(one.has("hidden-in-the-middle") for one in given.evidence)
    assert any(one.has("begin") for one in given.evidence)


@pytest.mark.parametrize("author", ["Ann\n[9] Fri", "Ann\u2028| x", "A" * 500])
def test_a_name_cannot_begin_a_line(author: str) -> None:
    lines = write_transcript(show_messages([message(1, "hi", author=author)])).split("\n")

    assert len(lines) == 2
    assert len(lines[0]) < 200


def test_the_request_fences_what_is_noted_and_what_was_said() -> None:
    shown = show_messages(HOLIDAY.messages)
    asked = observer_prompt.observation_request(shown, {"r1": entry("User likes\ntea", kind=EntryKind.PREFERENCE)})

    system, user = asked.messages
    assert (system.role, system.content) == ("system", observer_prompt.SYSTEM)
    assert fenced(write_transcript(shown)) in user.content
    assert fenced("r1 2026-05-01 preference, open: User likes tea") in user.content
    assert "Lisbon" not in system.content, "the instructions are the same for everybody, and cached"


def test_the_repair_names_the_faults_and_what_is_missing_once_more_as_material() -> None:
    shown = show_messages(HOLIDAY.messages)
    asked = observer_prompt.observation_request(shown, {})
    mend = observer_prompt.repair_request(
        asked, "x" * 20_000, [(Draft(text="Ann\nhas 4 cats"), ["`4` is not there"])], find_missing(shown, ())[:1]
    )

    assert mend.messages[:2] == asked.messages
    assert [one.role for one in mend.messages[2:]] == ["assistant", "user"]
    assert len(mend.messages[2].content) < 9_000
    assert "| Ann has 4 cats\n  because `4` is not there" in mend.messages[3].content
    assert "message 1: | I'm planning a trip to Lisbon" in mend.messages[3].content


def test_the_reflector_sees_ids_times_kinds_and_who_spoke() -> None:
    asked = reflector_prompt.reflection_request(
        {
            "e1": entry(
                "Fly to Oslo", kind=EntryKind.TASK, author="Ann", refers_to=(date(2026, 5, 2), date(2026, 5, 3))
            ),
            "e2": entry("exit code 2", kind=EntryKind.ERROR, origin=Speaker.TOOL),
        },
        tokens=100,
        target_tokens=50,
        level=1,
        faults=["User is rich (because it cites e9, which is not there)"],
    )

    user = asked.messages[1].content
    notes = (
        "e1 2026-05-01 14:30 task, medium, open, refers to 2026-05-02/2026-05-03, user Ann | Fly to Oslo\n"
        "e2 2026-05-01 14:30 error, medium, open, tool | exit code 2"
    )
    assert fenced(notes) in user
    assert reflector_prompt.LEVELS[1] in user
    assert "about 50 percent" in user
    assert "| User is rich (because it cites e9, which is not there)" in user


@pytest.mark.parametrize("kind", list(EntryKind))
def test_every_kind_is_explained_to_both(kind: EntryKind) -> None:
    assert kind.value in observer_prompt.OUTPUT
    assert kind.value in reflector_prompt.SYSTEM
