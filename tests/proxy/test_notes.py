"""Long conversations: notes reach the prompt, and what they stand for need not be sent again."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm.scripted import ChatServer
from tests.proxy.served import House, house

OBSERVED = {"enabled": True, "message_token_threshold": 150, "retained_tail_tokens": 60, "sweep_interval_s": 0.0}
SAID = [
    ("I'm looking for a summer berth in Kiel for my boat, the Albatross. She is 9.20 m long.",
     "A berth for 9.20 m is free at Düsternbrook from 1 May, for 450 euros the season."),
    ("450 euros is fine. I never want a berth next to the ferry, the wake is terrible.",
     "Understood, no berth next to the ferry. Berth 17 is on the quiet side."),
    ("Let's go with berth 17 then. I'll pay by bank transfer next Friday.",
     "Berth 17 is reserved for you. Please transfer 450 euros with the reference KI-2291."),
    ("Can you also find somebody for the engine? It loses oil on every trip.",
     "Two workshops answer at weekends: Bootsmotoren Nord and Werft Holtenau."),
    ("We decided on Werft Holtenau. Please ask for an appointment in April.",
     "I asked Werft Holtenau. They offer 14 April at 9:00."),
]  # fmt: skip
LAST = "What was the reference for the bank transfer again?"


@pytest.fixture(params=["system", "turn"])
def noting(request: pytest.FixtureRequest, migrated_file: Path, tmp_path: Path) -> Iterator[House]:
    """An endpoint that notes conversations and leaves out what is noted, with both places for context."""
    path = tmp_path / "lamina.db"
    shutil.copy(migrated_file, path)
    options = {"leave_out_noted": True, "placement": request.param}
    with house(str(path), proxy=options, observational_memory=OBSERVED) as opened:
        yield opened
        opened.close_clients()


def converse(served: House, key: str) -> list[Any]:
    """Say all of it, turn by turn; the history of the client."""
    messages: list[Any] = [{"role": "system", "content": "You work at the harbour."}]
    client = served.client(default_headers={"X-Lamina-Session": key})
    for asked, answer in SAID:
        messages.append({"role": "user", "content": asked})
        served.upstream.say(answer)
        client.chat.completions.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer})
        served.settled()
        served.run(lambda app: app.observation.drain())
    messages.append({"role": "user", "content": LAST})
    client.chat.completions.create(model="m", messages=messages)
    return messages


def test_notes_are_in_the_prompt_and_what_they_stand_for_is_left_out(noting: House) -> None:
    history = converse(noting, "harbour:1")
    sent = noting.upstream.requests[-1]["messages"]
    texts = [message["content"] for message in sent]
    whole = "\n".join(texts)
    assert "## Conversation Memory" in whole
    assert "KI-2291" in whole
    assert sent[-1] == history[-1]
    assert sent[0]["content"].startswith("You work at the harbour.")
    assert history[1] not in sent
    assert len(sent) < len(history)
    assert next(message for message in sent if message["role"] != "system")["role"] == "user"
    place = {"system": 0, "turn": -2}[noting.endpoint.proxy.settings.placement]
    assert "## Conversation Memory" in texts[place]
    assert len(noting.messages("harbour:1")) == len(history)  # system apart, the last answer included


def test_without_the_switch_everything_is_sent(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "lamina.db"
    shutil.copy(migrated_file, path)
    with house(str(path), observational_memory=OBSERVED) as opened:
        history = converse(opened, "harbour:2")
        opened.close_clients()
        sent = opened.upstream.requests[-1]["messages"]
    assert sent[1:] == history[1:]
    assert "## Conversation Memory" in sent[0]["content"]


def test_a_turn_without_context_sends_everything(noting: House, monkeypatch: pytest.MonkeyPatch) -> None:
    history = converse(noting, "harbour:3")
    noting.settled()

    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no context today")

    monkeypatch.setattr(type(noting.app.context), "assemble", fail)
    upstream: ChatServer = noting.upstream
    noting.client(default_headers={"X-Lamina-Session": "harbour:3"}).chat.completions.create(
        model="m", messages=history
    )
    assert upstream.requests[-1]["messages"] == history
