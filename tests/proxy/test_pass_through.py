"""What is sent reaches the upstream, and what it answers reaches the client: every byte, header and status."""

import asyncio
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import pytest

from tests.llm.scripted import KEY, Exchange, Gate, fixed, html, refused, reset, spoken, streamed
from tests.proxy.served import House

ASKED: dict[str, Any] = {"model": "house-model", "messages": [{"role": "user", "content": "Hi"}]}


def test_models_are_those_of_the_upstream(served: House) -> None:
    models = {"object": "list", "data": [{"id": "house-model", "object": "model", "created": 0, "owned_by": "us"}]}
    served.upstream.script.append(fixed(models))
    assert [model.id for model in served.client().models.list()] == ["house-model"]
    assert served.upstream.requests[0]["path"] == "/v1/models"


def test_a_path_that_lamina_does_not_know_is_passed_on_with_its_query_and_body(served: House) -> None:
    body = b'{"input" : "kill \\u0000 all humans",\n "n":1.0}'
    answer = served.post("/moderations%2Fnew?limit=3&after=a%20b", content=body)
    assert answer.status_code == 200
    assert served.upstream.requests[0]["path"] == "/v1/moderations%2Fnew?limit=3&after=a%20b"
    assert served.upstream.bodies == [body]


def test_a_path_that_climbs_is_refused(served: House) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0)) as connection:
        connection.sendall(b"GET /v1/../admin HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert served.upstream.requests == []


def test_an_answer_passes_with_its_headers_and_ours_stay_out_of_the_upstream(served: House) -> None:
    served.upstream.script.append(fixed({"choices": []}, headers={"X-Request-Id": "r-1", "Retry-After": "7"}))
    answer = served.post(
        "/chat/completions", json=ASKED, headers={"x-lamina-session": "h:1", "x-custom": "kept", "te": "trailers"}
    )
    assert answer.json() == {"choices": []}
    assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("r-1", "7")
    sent = served.upstream.headers[0]
    assert (sent["authorization"], sent["x-custom"]) == (f"Bearer {KEY}", "kept")
    assert [name for name in sent if name.startswith("x-lamina") or name == "te"] == []
    assert sent["host"] == served.upstream.url.split("/")[2]


def test_a_stream_passes_byte_for_byte(served: House) -> None:
    odd = [b": a comment\n\n", b"data: not json\r\n\r\n", 'data: {"ö"'.encode()[:9], 'ö": 1}\n\n'.encode()[1:]]
    pieces = [*spoken("Hel", "lo"), *odd]
    served.upstream.script.append(streamed(*pieces))
    answer = served.post("/chat/completions", json={**ASKED, "stream": True})
    assert answer.content == b"".join(pieces)
    assert answer.headers["content-type"] == "text/event-stream"


def test_the_first_piece_is_there_before_the_last_is_made(served: House) -> None:
    first, *rest = spoken("Hel", "lo")
    let_go = threading.Event()

    def finish(exchange: Exchange) -> None:
        let_go.wait(30)
        exchange.handler.wfile.write(b"".join(rest))

    served.upstream.script.append(streamed(first, then=finish))
    with httpx2.stream("POST", f"{served.url}/chat/completions", json={**ASKED, "stream": True}, timeout=30) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == first
        let_go.set()
        assert b"".join(pieces) == b"".join(rest)


def test_unknown_fields_and_every_kind_of_content_pass(served: House) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    content = [{"type": "text", "text": "What is it?"}, image, {"type": "hologram", "of": "us"}]
    body = {
        **ASKED,
        "messages": [{"role": "user", "content": content, "name": "ann", "mood": 1}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
        "vendor": {"deep": [1.5, None, "😀"]},
    }
    assert served.post("/chat/completions", json=body).status_code == 200
    sent = {name: value for name, value in served.upstream.requests[0].items() if name != "path"}
    assert sent["messages"][-1] == body["messages"][0]
    assert {**sent, "messages": None} == {**body, "messages": None}


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_a_refusal_of_the_upstream_is_the_clients_to_read(served: House, status: int) -> None:
    served.upstream.script.append(refused(status, retry_after=3, code="their_code"))
    with pytest.raises(openai.APIStatusError) as raised:
        served.client().chat.completions.create(**ASKED)
    assert raised.value.status_code == status
    assert raised.value.response.headers["retry-after"] == "3"
    assert raised.value.body == {"message": "no", "code": "their_code"}


def test_a_page_where_an_answer_should_be_passes_as_it_is(served: House) -> None:
    served.upstream.script.append(html)
    answer = served.post("/chat/completions", json=ASKED)
    assert (answer.content, answer.headers["content-type"]) == (b"<html>hello</html>", "text/html")


def test_a_connection_that_breaks_before_the_answer_is_a_bad_gateway(served: House) -> None:
    served.upstream.script.append(reset)
    with pytest.raises(openai.InternalServerError) as raised:
        served.client().chat.completions.create(**ASKED)
    assert raised.value.status_code == 502
    assert raised.value.code == "upstream_failed"
    assert served.errors("proxy_upstream").keys() <= {"upstream_failed", "upstream_cut"}
    assert served.errors("proxy_upstream")["upstream_failed"] >= 1


def test_an_answer_that_breaks_off_breaks_off_at_the_client_too(served: House) -> None:
    served.upstream.script.append(streamed(spoken("Hel")[0], then=reset))
    with pytest.raises(httpx2.RemoteProtocolError):
        served.post("/chat/completions", json={**ASKED, "stream": True})


def test_a_client_that_leaves_ends_its_request_upstream(served: House) -> None:
    gone = threading.Event()

    def until_gone(exchange: Exchange) -> None:
        while not exchange.released.is_set():
            try:
                exchange.handler.wfile.write(b": still there\n\n")
            except OSError:
                gone.set()
                return

    served.upstream.script.append(streamed(spoken("Hel")[0], then=until_gone))
    with httpx2.stream("POST", f"{served.url}/chat/completions", json={**ASKED, "stream": True}, timeout=30) as answer:
        next(answer.iter_raw())
    assert gone.wait(30)


def test_a_client_that_leaves_before_the_answer_begins_ends_it_too(served: House) -> None:
    gate = Gate()
    served.upstream.script.append(gate)

    async def leave() -> None:
        async with openai.AsyncOpenAI(base_url=served.url, api_key=KEY, max_retries=0) as client:
            asking = asyncio.create_task(client.chat.completions.create(**ASKED))
            await gate.arrived()
            asking.cancel()
            await asyncio.wait([asking])

    asyncio.run(leave())
    gate.open()
    assert served.client().models.with_raw_response.list().http_response.status_code == 200


def test_what_is_not_json_is_the_upstreams_to_refuse(served: House) -> None:
    for body in (b"{", b"[]", b"\xff\xfe", b'{"messages": "no"}', b'{"messages": [1]}', b'{"n": NaN}', b"[" * 100_000):
        served.upstream.bodies.clear()
        assert served.post("/chat/completions", content=body).status_code == 200
        assert served.upstream.bodies == [body]


def test_health_and_metrics_are_there(served: House) -> None:
    root = served.url.removesuffix("/v1")
    assert httpx2.get(f"{root}/healthz").json() == {"status": "healthy"}
    assert "memory_operations_total" in httpx2.get(f"{root}/metrics").text


def test_a_client_with_half_of_the_base_url_is_told(served: House) -> None:
    answer = httpx2.post(f"{served.url.removesuffix('/v1')}/chat/completions", json=ASKED)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_path")


def test_other_methods_of_a_path_pass_too(served: House) -> None:
    assert httpx2.get(f"{served.url}/chat/completions?limit=2").status_code == 200
    assert served.upstream.requests[0]["path"] == "/v1/chat/completions?limit=2"


@pytest.mark.parametrize("depth", [100, 400, 700, 900, 950, 1000, 1500, 5000])
def test_a_body_of_any_depth_passes(served: House, depth: int) -> None:
    content = b"[" * depth + b"]" * depth
    body = b'{"model":"m","messages":[{"role":"user","content":' + content + b"}]}"
    assert served.post("/chat/completions", content=body).status_code == 200
    assert content in served.upstream.bodies[0]


def test_a_fault_of_ours_is_said_in_the_protocols_form(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(type(served.app.parts.provider), "health_check", fail)
    answer = httpx2.get(f"{served.url.removesuffix('/v1')}/healthz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "secret" not in answer.text
    assert served.errors("proxy_request") == {"RuntimeError": 1}
