"""A model that needs no key: enough of one to show what Lamina puts in front of it."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

_DAYS = {"monday": "2026-05-04", "friday": "2026-05-08"}


class ScriptedModel(BaseLlm):
    """Books, and minds what it is told: it knows how to write a day only where its instruction says so."""

    model: str = "scripted"

    @property
    def capabilities(self) -> LlmCapabilities:
        """Everything is scripted, so everything is supported."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One answer: a call, or a sentence."""
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=0, candidates_token_count=0)
        yield LlmResponse(content=_answer(llm_request), usage_metadata=usage)


def _answer(request: LlmRequest) -> types.Content:
    instruction = str(request.config.system_instruction or "")
    part = (request.contents[-1].parts or [types.Part()])[-1]
    if part.function_response is not None:
        response: dict[str, Any] = part.function_response.response or {}
        return _say(str(response["result"]) if "result" in response else f"That failed: {response['error']}.")
    said = (part.text or "").lower()
    if said.startswith("no, "):
        return _call("remember", fix=(part.text or "")[4:])
    day = next((day for day in _DAYS if day in said), None)
    if day is not None:
        return _call("book_room", day=_DAYS[day] if "YYYY-MM-DD" in instruction else day)
    return _say("Which day?")


def _say(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def _call(name: str, **arguments: Any) -> types.Content:
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=arguments)])
