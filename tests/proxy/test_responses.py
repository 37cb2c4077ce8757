"""/v1/responses: the same memory in its form, with the real client."""

import itertools
import json
from typing import Any

import pytest

from tests.llm.scripted import Behaviour, fixed, hang, streamed
from tests.proxy.served import House

_numbers = itertools.count()
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ferries", "arguments": "{}"}


@pytest.fixture
def key() -> str:
    return f"responses:{next(_numbers)}"


def response(*items: Any, id: str = "resp_1", status: str = "completed") -> dict[str, Any]:
    return {"id": id, "object": "response", "created_at": 0, "model": "m", "status": status, "output": list(items)}


def spoken_item(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def answered(text: str, id: str = "resp_1") -> Behaviour:
    return fixed(response(spoken_item(text), id=id))


def texts(served: House, key: str) -> list[str]:
    return [message.content for message in served.messages(key)]


def test_instructions_get_the_context_and_both_sides_are_stored(served: House, key: str) -> None:
    served.run(lambda app: app.memory.add("Finn's bicycle is green", layer="user", user_id="finn"))
    served.upstream.script.append(answered("Green."))
    answer = served.client().responses.create(
        model="m",
        instructions="You help.",
        input="What colour is Finn's bicycle?",
        extra_headers={"X-Lamina-Session": key, "X-Lamina-User": "finn"},
    )
    assert answer.output_text == "Green."
    sent = served.upstream.requests[0]
    assert sent["instructions"].startswith("You help.\n\n")
    assert "bicycle is green" in sent["instructions"]
    assert sent["input"] == "What colour is Finn's bicycle?"
    assert texts(served, key) == ["What colour is Finn's bicycle?", "Green."]


def test_items_with_tools_and_thoughts_are_stored_once(served: House, key: str) -> None:
    client = served.client(default_headers={"X-Lamina-Session": key})
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    served.upstream.script += [fixed(response(thought, CALL)), answered("At 07:30.")]
    items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "A ferry?"}]}]
    client.responses.create(model="m", input=items)
    items += [thought, CALL, {"type": "function_call_output", "call_id": "call_1", "output": "07:30"}]
    client.responses.create(model="m", input=items)
    asked, called, result, said = served.messages(key)
    assert (asked.content, said.content) == ("A ferry?", "At 07:30.")
    assert [call.name for call in called.calls] == ["ferries"]
    assert [part.content for part in result.results] == ["07:30"]


def test_a_stream_is_stored_from_the_event_that_ends_it(served: House, key: str) -> None:
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response(status="in_progress")},
        {
            "type": "response.output_text.delta",
            "delta": "Mo",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
        },
        {"type": "response.completed", "response": response(spoken_item("Moin"))},
    ]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    served.upstream.script.append(streamed(*lines))
    with served.client().responses.create(
        model="m", input="Hi", stream=True, extra_headers={"X-Lamina-Session": key}
    ) as stream:
        assert [event.type for event in stream] == [event["type"] for event in events]
    assert texts(served, key) == ["Hi", "Moin"]
    served.upstream.script.append(streamed(*lines[:2], then=hang))
    with served.client().responses.create(
        model="m", input="Hi?", stream=True, extra_headers={"X-Lamina-Session": key}
    ) as stream:
        list(itertools.islice(stream, 2))
    assert served.messages(key, count=4)[-1].content == "Mo\n\n[cut off here]"


def test_a_request_that_refers_to_an_answer_belongs_to_its_session(served: House) -> None:
    served.upstream.script += [
        answered("One.", id="resp_One."),
        answered("Two.", id="resp_b"),
        answered("No.", id="resp_c"),
    ]
    first = served.client().responses.with_raw_response.create(model="m", input="Begin a walk")
    key = str(first.headers["x-lamina-session"])
    served.settled()
    again = served.client().responses.with_raw_response.create(
        model="m", input="Next", previous_response_id="resp_One."
    )
    other = served.client(key="other").responses.with_raw_response.create(
        model="m", input="Next", previous_response_id="resp_One."
    )
    assert again.headers["x-lamina-session"] == key != other.headers["x-lamina-session"]
    assert texts(served, key) == ["Begin a walk", "One.", "Next", "Two."]


def test_a_conversation_that_the_upstream_keeps_is_one_session(served: House) -> None:
    served.upstream.script += [answered("One."), answered("Two.")]
    keys = set()
    for text in ("Hi", "Hi"):
        answer = served.client().responses.with_raw_response.create(model="m", input=text, conversation="conv_7")
        keys.add(str(answer.headers["x-lamina-session"]))
        served.settled()
    (key,) = keys
    assert texts(served, key) == ["Hi", "One.", "Hi", "Two."]
