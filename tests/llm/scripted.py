"""A chat server on loopback that plays any model: a queue or a function of replies, and every kind of failure.

    with running(ChatServer()) as server:
        server.say("first answer", "second answer")             # in this order
        server.script.append(refused(429, retry_after=2))       # then a refusal
        server.always = by(lambda body: body["messages"][-1]["content"].upper())   # then this, for ever
        model = chat_model(server)

`server.requests` holds what was asked; `Gate` holds an answer back until the test lets it go.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread

from lamina.llm.openai import OpenAIChatModel
from lamina.llm.types import ChatMessage, ChatRequest
from tests.endpoint.loopback import (
    Answer,
    Behaviour,
    Exchange,
    LoopbackServer,
    altered,
    drip,
    fixed,
    hang,
    reset,
    right,
    running,
)

__all__ = [
    "KEY",
    "Answer",
    "Behaviour",
    "ChatServer",
    "Exchange",
    "Gate",
    "altered",
    "by",
    "chat_model",
    "chunk",
    "completion",
    "cut_json",
    "drip",
    "events",
    "fixed",
    "hang",
    "html",
    "no_choices",
    "question",
    "refused",
    "reset",
    "right",
    "running",
    "said",
    "spoken",
    "streamed",
]

KEY = "secretkey_abcdef"
"""Looks like an error code, the form of a key that is hardest to keep out of errors."""


@dataclass(slots=True)
class ChatServer(LoopbackServer):
    """Answers `text` unless the script or `always` says something else."""

    text: str = "Hello."

    def answer(self, body: dict[str, Any]) -> Answer:
        """The right answer."""
        return completion(self.text, model=body.get("model", "house-model"))

    def say(self, *texts: str) -> None:
        """Answer the next requests with these texts, in this order."""
        self.script.extend(said(text) for text in texts)

    @property
    def asked(self) -> list[str]:
        """The content of the last message of every request."""
        return [request["messages"][-1]["content"] for request in self.requests]


def completion(text: str | None, *, model: str = "house-model", finish_reason: str | None = "stop") -> Answer:
    """An answer of the chat protocol; it took 11 tokens to ask and 7 to say."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def said(text: str | None, *, finish_reason: str | None = "stop") -> Behaviour:
    """This text; `finish_reason="length"` is an answer that was cut off."""
    return lambda exchange: exchange.send(completion(text, model=exchange.body["model"], finish_reason=finish_reason))


def by(reply: Callable[[dict[str, Any]], str]) -> Behaviour:
    """What the function makes of the request's body."""
    return lambda exchange: said(reply(exchange.body))(exchange)


def refused(status: int, *, retry_after: float | None = None, **error: object) -> Behaviour:
    """A refusal with this status: 401, 429 with a wait, 500 and so on; `error` are fields of its error object."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return fixed({"error": {"message": "no", **error}}, status=status, headers=headers)


html: Behaviour = fixed(b"<html>hello</html>", kind="text/html")
"""A page where an answer should be."""
cut_json: Behaviour = fixed(b'{"choices": [{"message": {"content": "Hel')
"""An answer that ends in the middle."""
no_choices: Behaviour = fixed({"object": "chat.completion", "choices": []})
"""An answer that says nothing."""


def events(*chunks: object, done: bool = True) -> list[bytes]:
    """Chunks of a stream as they stand on the wire."""
    lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return [*lines, b"data: [DONE]\n\n"] if done else lines


def chunk(delta: dict[str, Any], *, finish_reason: str | None = None, index: int = 0) -> Answer:
    """One chunk of a streamed completion."""
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "house-model", "choices": [choice]}


def spoken(*words: str) -> list[bytes]:
    """A whole streamed answer, a chunk for each word."""
    deltas = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words)]
    return events(*deltas, chunk({}, finish_reason="stop"))


def streamed(
    *pieces: bytes, kind: str = "text/event-stream", status: int = 200, then: Behaviour | None = None
) -> Behaviour:
    """These bytes, each sent on its own; `then` is what happens in place of the end, such as `hang` or `reset`."""

    def behave(exchange: Exchange) -> None:
        handler = exchange.handler
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
        if then is not None:
            then(exchange)

    return behave


@dataclass(slots=True)
class Gate:
    """A behaviour that holds its answer back: `await gate.arrived()`, look around, then `gate.open()`."""

    then: Behaviour = right
    _arrived: threading.Event = field(default_factory=threading.Event)
    _opened: threading.Event = field(default_factory=threading.Event)

    def __call__(self, exchange: Exchange) -> None:
        self._arrived.set()
        while not self._opened.wait(0.01):
            if exchange.released.is_set():
                return
        self.then(exchange)

    async def arrived(self) -> None:
        """Wait until a request stands before the gate."""
        if not await anyio.to_thread.run_sync(self._arrived.wait, 30):
            raise AssertionError("no request arrived at the gate")

    def open(self) -> None:
        """Let the answer go."""
        self._opened.set()


def chat_model(server: ChatServer, *, model: str = "house-model", **options: Any) -> OpenAIChatModel:
    """The real client, connected to the server; the caller closes it."""
    return OpenAIChatModel(model=model, api_key=KEY, base_url=server.url, **options)


def question(text: str = "Who is there?", **options: Any) -> ChatRequest:
    """A request of one system and one user message."""
    messages = (ChatMessage(role="system", content="You answer."), ChatMessage(role="user", content=text))
    return ChatRequest(messages=messages, **options)
