"""A client changes its base URL, and the agent remembers: the real client, sync, async, streaming, with tools."""

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from lamina.session.types import Message
from tests.llm.scripted import KEY, Exchange, chunk, completion, events, fixed, hang, reset, said, spoken, streamed
from tests.proxy.served import House

_numbers = itertools.count()
CALL = {"id": "call_1", "type": "function", "function": {"name": "ferries", "arguments": '{"day": "Friday"}'}}
TOOL: Any = {"type": "function", "function": {"name": "ferries", "description": "Times of ferries", "parameters": {}}}


@pytest.fixture
def key() -> str:
    """A session that no other test knows."""
    return f"test:{next(_numbers)}"


def told(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in messages]


def ask(served: House, messages: list[Any], key: str | None = None, **options: Any) -> str:
    headers = {} if key is None else {"X-Lamina-Session": key}
    answer = served.client().chat.completions.create(
        model="house-model", messages=messages, extra_headers=headers, **options
    )
    return answer.choices[0].message.content or ""


def test_what_is_known_reaches_the_system_message_and_the_receipt_the_client(served: House, key: str) -> None:
    served.run(lambda app: app.memory.add("Ann's boat is the Albatross", layer="user", user_id="ann-1"))
    answer = served.client().chat.completions.with_raw_response.create(
        model="house-model",
        messages=[
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "What is Ann's boat called?"},
        ],
        extra_headers={"X-Lamina-Session": key, "X-Lamina-User": "ann-1"},
    )
    system, user = served.upstream.requests[0]["messages"]
    assert system["content"].startswith("You help.\n\n")
    assert "Albatross" in system["content"]
    assert user == {"role": "user", "content": "What is Ann's boat called?"}
    assert answer.headers["x-lamina-session"] == key
    assert len(answer.headers["x-lamina-receipt"]) > 8


def test_without_a_system_message_one_is_inserted(served: House) -> None:
    served.run(lambda app: app.memory.add("Ben drinks tea, never coffee", layer="user", user_id="ben-1"))
    ask(served, [{"role": "user", "content": "Does Ben drink coffee or tea?"}], user="ben-1")
    system, user = served.upstream.requests[0]["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "never coffee" in system["content"]


def test_a_system_message_in_parts_gets_one_more(served: House, key: str) -> None:
    served.run(lambda app: app.memory.add("Cleo's parrot is called Ruby", layer="user", user_id="cleo-1"))
    part = {"type": "text", "text": "You help."}
    messages = [{"role": "developer", "content": [part]}, {"role": "user", "content": "Cleo's parrot is called what?"}]
    ask(served, messages, key, user="cleo-1")
    first, more = served.upstream.requests[0]["messages"][0]["content"]
    assert first == part
    assert "Ruby" in more["text"]


def test_a_history_that_is_sent_again_is_stored_once(served: House, key: str) -> None:
    messages: list[Any] = [{"role": "system", "content": "You help."}]
    for number in range(4):
        served.upstream.say(f"answer {number}")
        messages.append({"role": "user", "content": "again"})
        messages.append({"role": "assistant", "content": ask(served, messages, key)})
    stored = served.messages(key)
    assert told(stored) == [
        pair for number in range(4) for pair in [("user", "again"), ("assistant", f"answer {number}")]
    ]
    assert [message.sequence for message in stored] == list(range(1, 9))


def test_a_turn_that_is_tried_again_is_stored_once(served: House, key: str) -> None:
    served.upstream.script.append(fixed({"error": {"message": "no"}}, status=500))
    with pytest.raises(openai.InternalServerError):
        ask(served, [{"role": "user", "content": "Who?"}], key)
    served.upstream.say("Me.")
    ask(served, [{"role": "user", "content": "Who?"}], key)
    assert told(served.messages(key)) == [("user", "Who?"), ("assistant", "Me.")]


def test_an_edited_history_is_stored_from_where_it_differs(served: House, key: str) -> None:
    first: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}]
    served.upstream.say("2", "zwei")
    ask(served, [*first, {"role": "user", "content": "two"}], key)
    ask(served, [*first, {"role": "user", "content": "TWO, in German"}], key)
    assert [text for _, text in told(served.messages(key))] == ["one", "1", "two", "2", "TWO, in German", "zwei"]


def test_a_client_that_sends_only_what_is_new_is_remembered_word_for_word(served: House, key: str) -> None:
    served.upstream.say("First.", "Second.", "Third.")
    for text in ("yes", "no", "yes"):
        ask(served, [{"role": "user", "content": text}], key)
        served.settled()
    assert [text for _, text in told(served.messages(key))] == ["yes", "First.", "no", "Second.", "yes", "Third."]


def test_a_client_that_forgets_the_oldest_messages_stores_nothing_twice(served: House, key: str) -> None:
    history: list[Any] = []
    for number in range(8):
        served.upstream.say(f"answer {number}")
        history.append({"role": "user", "content": f"question {number}"})
        history.append({"role": "assistant", "content": ask(served, history[-5:], key)})
        served.settled()
    assert len(served.messages(key)) == 16


def test_a_new_process_goes_on_where_the_last_one_stopped(served: House, key: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "one"}]
    messages.append({"role": "assistant", "content": ask(served, messages, key)})
    served.settled()
    served.endpoint.proxy._turns["default"].recorder._records.clear()
    ask(served, [*messages, {"role": "user", "content": "two"}], key)
    assert [text for _, text in told(served.messages(key))] == ["one", "Hello.", "two", "Hello."]


def test_a_stream_is_stored_when_it_ends(served: House, key: str) -> None:
    served.upstream.script.append(streamed(*spoken("The ", "ferry ", "leaves.")))
    answer = served.client().chat.completions.create(
        model="house-model",
        messages=[{"role": "user", "content": "When?"}],
        stream=True,
        extra_headers={"X-Lamina-Session": key},
    )
    assert "".join(piece.choices[0].delta.content or "" for piece in answer) == "The ferry leaves."
    assert told(served.messages(key)) == [("user", "When?"), ("assistant", "The ferry leaves.")]


@pytest.mark.parametrize("cut", [reset, hang])
def test_a_stream_that_is_cut_off_is_stored_as_far_as_it_came_and_marked(served: House, key: str, cut: Any) -> None:
    pieces = spoken("The ", "ferry ")[:3]
    served.upstream.script.append(streamed(*pieces, then=cut))
    answer = served.client().chat.completions.create(
        model="house-model",
        messages=[{"role": "user", "content": "When?"}],
        stream=True,
        extra_headers={"X-Lamina-Session": key},
    )
    with answer:
        heard = itertools.islice(answer, 3)
        assert [piece.choices[0].delta.content for piece in heard] == ["", "The ", "ferry "]
        if cut is reset:
            with pytest.raises(openai.APIError):
                next(iter(answer))
    served.upstream.always = None
    assert told(served.messages(key, count=2))[1] == ("assistant", "The ferry \n\n[cut off here]")


def test_tool_calls_and_results_are_stored_as_parts(served: House, key: str) -> None:
    call = completion(None)
    call["choices"][0]["message"]["tool_calls"] = [CALL]
    served.upstream.script.append(fixed(call))
    messages: list[Any] = [{"role": "user", "content": "A ferry on Friday?"}]
    client = served.client(default_headers={"X-Lamina-Session": key})
    answer = client.chat.completions.create(model="house-model", messages=messages, tools=[TOOL])
    messages.append(answer.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "07:30"})
    served.upstream.say("At 07:30.")
    client.chat.completions.create(model="house-model", messages=messages, tools=[TOOL])
    _, called, result, last = served.messages(key)
    assert [(part.id, part.name, part.arguments) for part in called.calls] == [
        ("call_1", "ferries", '{"day": "Friday"}')
    ]
    assert [(part.call_id, part.content) for part in result.results] == [("call_1", "07:30")]
    assert last.content == "At 07:30."


def test_tool_calls_of_a_stream_are_put_together(served: House, key: str) -> None:
    pieces = [
        chunk({"role": "assistant", "content": None}),
        chunk({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "ferries", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"day": '}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"Friday"}'}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "call_2", "function": {"name": "buses", "arguments": "{}"}}]}),
        chunk({}, finish_reason="tool_calls"),
    ]
    served.upstream.script.append(streamed(*events(*pieces)))
    client = served.client(default_headers={"X-Lamina-Session": key})
    messages: list[Any] = [{"role": "user", "content": "A ferry on Friday?"}]
    with client.chat.completions.create(model="m", messages=messages, tools=[TOOL], stream=True) as answer:
        list(answer)
    called = served.messages(key)[1]
    assert [(part.id, part.arguments) for part in called.calls] == [("call_1", '{"day": "Friday"}'), ("call_2", "{}")]


def test_the_async_client_is_served_the_same_way(served: House, key: str) -> None:
    async def talk() -> str:
        async with openai.AsyncOpenAI(base_url=served.url, api_key=KEY, max_retries=0) as client:
            answer = await client.chat.completions.create(
                model="house-model",
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
                extra_headers={"X-Lamina-Session": key},
            )
            return "".join([piece.choices[0].delta.content or "" async for piece in answer])

    served.upstream.script.append(streamed(*spoken("Mo", "in")))
    assert asyncio.run(talk()) == "Moin"
    assert told(served.messages(key)) == [("user", "Hi"), ("assistant", "Moin")]


def test_langchain_talks_through_it_with_tools_and_streams(served: House, key: str) -> None:
    call = completion(None)
    call["choices"][0]["message"]["tool_calls"] = [CALL]
    served.upstream.script += [fixed(call), said("At 07:30."), streamed(*spoken("You ", "too."))]
    model = ChatOpenAI(
        model="house-model", base_url=served.url, api_key=lambda: KEY, default_headers={"X-Lamina-Session": key}
    )
    history: list[Any] = [SystemMessage("You help."), HumanMessage("A ferry on Friday?")]
    asked = model.bind_tools([TOOL]).invoke(history)
    assert isinstance(asked, AIMessage)
    history += [asked, ToolMessage("07:30", tool_call_id="call_1")]
    history += [model.bind_tools([TOOL]).invoke(history), HumanMessage("Have a nice day")]
    assert "".join(str(piece.content) for piece in model.stream(history)) == "You too."
    roles = [message.role.value for message in served.messages(key)]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


def test_the_user_field_names_the_session_and_the_user(served: House) -> None:
    ask(served, [{"role": "user", "content": "one"}], user="dora")
    served.settled()
    ask(served, [{"role": "user", "content": "two"}], user="dora")
    served.settled()
    (session,) = served.run(lambda app: app.sessions.list(user_id="dora")).sessions
    assert session.message_count == 4
    assert session.key.startswith("openai:dora:")


def test_the_first_messages_name_a_session_of_this_caller_only(served: House) -> None:
    def key_of(api_key: str, *messages: Any) -> str:
        answer = served.client(key=api_key).chat.completions.with_raw_response.create(
            model="house-model", messages=list(messages)
        )
        return str(answer.headers["x-lamina-session"])

    first, system = {"role": "user", "content": "Hello there"}, {"role": "system", "content": "You help."}
    later = [first, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}]
    mine = key_of("mine", first)
    assert mine == key_of("mine", *later)
    assert len({mine, key_of("theirs", first), key_of("mine", system, first)}) == 3
    assert [text for _, text in told(served.messages(mine))] == ["Hello there", "Hello.", "And?", "Hello."]


def test_images_are_passed_on_and_only_mentioned_in_the_store(served: House, key: str) -> None:
    url = f"data:image/png;base64,{'A' * 400}"
    content: Any = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    ask(served, [{"role": "user", "content": content}], key)
    (stored, _) = served.messages(key)
    assert [(part.media_type, part.size_bytes) for part in stored.parts] == [("image/png", 300)]  # type: ignore[union-attr]
    assert served.upstream.requests[0]["messages"][-1]["content"] == content


def test_two_turns_of_one_session_at_once_store_what_each_said_once(served: House, key: str) -> None:
    first: list[Any] = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}]

    def reply(exchange: Exchange) -> None:
        said(f"to {exchange.body['messages'][-1]['content']}")(exchange)

    served.upstream.always = reply

    async def talk() -> None:
        async with openai.AsyncOpenAI(base_url=served.url, api_key=KEY, max_retries=0) as client:
            turns = (
                client.chat.completions.create(
                    model="m",
                    messages=[*first, {"role": "user", "content": text}],
                    extra_headers={"X-Lamina-Session": key},
                )
                for text in ("left", "right")
            )
            await asyncio.gather(*turns)

    asyncio.run(talk())
    texts = [text for _, text in told(served.messages(key))]
    assert texts[:2] == ["one", "1"]
    assert sorted(texts[2:]) == ["left", "right", "to left", "to right"]
    assert texts.index("left") < texts.index("to left")


def test_sixty_four_conversations_at_once_are_never_crossed(served: House) -> None:
    served.upstream.always = lambda exchange: said(f"to {exchange.body['messages'][-1]['content']}")(exchange)

    async def talk() -> None:
        async with openai.AsyncOpenAI(base_url=served.url, api_key=KEY, max_retries=0) as client:

            async def converse(number: int) -> None:
                messages: list[Any] = []
                for step in range(3):
                    messages.append({"role": "user", "content": f"{number}, {step}"})
                    answer = await client.chat.completions.create(
                        model="m", messages=messages, extra_headers={"X-Lamina-Session": f"many:{number}"}
                    )
                    messages.append({"role": "assistant", "content": answer.choices[0].message.content})
                    assert messages[-1]["content"] == f"to {number}, {step}"

            await asyncio.gather(*(converse(number) for number in range(64)))

    asyncio.run(talk())
    for number in range(64):
        texts = [text for _, text in told(served.messages(f"many:{number}"))]
        assert texts == [text for step in range(3) for text in (f"{number}, {step}", f"to {number}, {step}")]


def test_what_is_said_in_one_conversation_stays_out_of_the_prompts_of_others(served: House) -> None:
    ask(served, [{"role": "user", "content": "My safe has the number 4711"}], "secret:1", user="eve")
    served.settled()
    ask(served, [{"role": "user", "content": "What number has my safe?"}], "secret:2", user="mallory")
    assert "4711" not in json.dumps(served.upstream.requests[-1])
