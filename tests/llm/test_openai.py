"""The real client against a chat server that answers."""

import sys
from typing import Any

import pytest

from lamina.errors import ConfigurationError
from lamina.llm.openai import OpenAIChatModel
from lamina.llm.types import ChatMessage, ChatModel, ChatRequest
from tests.llm.scripted import KEY, Answer, ChatServer, altered, by, chat_model, question, refused, said

pytestmark = pytest.mark.anyio

OLD, NEW = "max_tokens", "max_completion_tokens"


async def test_a_request_is_sent_as_it_is_and_answered_as_a_whole(server: ChatServer) -> None:
    model: ChatModel = chat_model(server)
    server.say("It is Ann.")
    reply = await model.complete(question("Who is there?"))
    assert (reply.text, reply.model, reply.finished) == ("It is Ann.", "openai:house-model", True)
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert server.requests == [
        {
            "path": "/v1/chat/completions",
            "model": "house-model",
            "stream": False,
            "messages": [
                {"role": "system", "content": "You answer."},
                {"role": "user", "content": "Who is there?"},
            ],
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    await model.aclose()


async def test_what_the_request_asks_for_wins_over_the_models_own_choices(server: ChatServer) -> None:
    model = chat_model(server, temperature=0.5, max_output_tokens=100)
    await model.complete(question())
    await model.complete(question(temperature=0.0, max_output_tokens=20))
    sent = [{name: body.get(name) for name in ("temperature", "max_tokens")} for body in server.requests]
    assert sent == [{"temperature": 0.5, "max_tokens": 100}, {"temperature": 0.0, "max_tokens": 20}]
    await model.aclose()


async def test_replies_can_depend_on_what_was_asked(server: ChatServer) -> None:
    model = chat_model(server)
    server.always = by(lambda body: body["messages"][-1]["content"].upper())
    assert (await model.complete(question("ann"))).text == "ANN"
    assert server.asked == ["ann"]
    await model.aclose()


def drop_usage(answer: Answer) -> None:
    del answer["usage"]


def nonsense_usage(answer: Answer) -> None:
    answer["usage"] = {"prompt_tokens": "many", "completion_tokens": -3}


@pytest.mark.parametrize("change", [drop_usage, nonsense_usage])
async def test_tokens_are_estimated_where_the_endpoint_does_not_count(server: ChatServer, change: Any) -> None:
    model = chat_model(server, count=len)
    server.script.append(altered(change))
    request = ChatRequest(messages=(ChatMessage(role="user", content="12345"), ChatMessage(role="user", content="1")))
    reply = await model.complete(request)
    assert (reply.input_tokens, reply.output_tokens) == (6 + 2 * 4, len("Hello."))
    await model.aclose()


@pytest.mark.parametrize(
    ("reason", "finished"),
    [
        ("stop", True),
        ("end_turn", True),
        (None, True),
        ("length", False),
        ("max_tokens", False),
        ("content_filter", False),
    ],
)
async def test_an_answer_that_was_cut_off_is_marked(server: ChatServer, reason: str | None, finished: bool) -> None:
    model = chat_model(server)
    server.script.append(said("It is", finish_reason=reason))
    reply = await model.complete(question())
    assert (reply.text, reply.finished) == ("It is", finished)
    await model.aclose()


async def test_a_model_that_declines_gives_an_empty_answer_that_is_not_finished(server: ChatServer) -> None:
    model = chat_model(server)
    server.script.append(said(None))
    reply = await model.complete(question())
    assert (reply.text, reply.finished) == ("", False)
    await model.aclose()


async def test_thoughts_are_not_part_of_the_answer(server: ChatServer) -> None:
    model = chat_model(server)
    server.say("<think>\nwho?\n</think>\n\nIt is Ann.")
    assert (await model.complete(question())).text == "It is Ann."
    await model.aclose()


@pytest.mark.parametrize("names", [[OLD, NEW], [OLD, NEW, None]])
async def test_a_limit_that_the_model_knows_by_another_name_is_sent_by_that_name(
    server: ChatServer, names: list[str | None]
) -> None:
    model = chat_model(server, max_output_tokens=9)
    for name in names[:-1]:
        server.script.append(refused(400, code="unsupported_parameter", param=name))
    assert (await model.complete(question())).text == "Hello."
    assert (await model.complete(question())).text == "Hello."
    limits = [next((name for name in body if name.startswith("max_")), None) for body in server.requests]
    assert limits == [*names, names[-1]]  # and the second request knew at once
    await model.aclose()


async def test_a_temperature_that_the_model_does_not_take_is_left_out_from_then_on(server: ChatServer) -> None:
    model = chat_model(server, temperature=0.2)
    server.script.append(refused(400, code="unsupported_value", param="temperature"))
    await model.complete(question())
    await model.complete(question())
    assert ["temperature" in body for body in server.requests] == [True, False, False]
    await model.aclose()


async def test_a_refused_parameter_that_is_not_ours_is_a_matter_of_configuration(server: ChatServer) -> None:
    model = chat_model(server, temperature=0.2)
    server.script.append(refused(400, param="messages"))
    with pytest.raises(ConfigurationError, match="check model, temperature"):
        await model.complete(question())
    assert len(server.requests) == 1
    await model.aclose()


def test_openai_itself_is_given_the_limit_by_its_new_name() -> None:
    model = OpenAIChatModel(model="m", api_key=KEY)
    assert model._options(question(max_output_tokens=5)) == {"max_completion_tokens": 5}


async def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina.llm.factory import create_chat_model
    from lamina.llm.settings import LlmSettings

    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "lamina.llm.openai")
    monkeypatch.delitem(sys.modules, "lamina.endpoint.client")
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[openai\]'"):
        create_chat_model(LlmSettings(model="m", base_url="http://localhost/v1"), environ={})
