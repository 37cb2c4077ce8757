"""From settings to a chat model."""

from pathlib import Path

import pytest

from lamina.errors import ConfigurationError
from lamina.llm.factory import create_chat_model
from lamina.llm.openai import OpenAIChatModel
from lamina.llm.settings import LlmSettings
from tests.llm.scripted import ChatServer, question

pytestmark = pytest.mark.anyio

THIRD_PARTY = """
class Model:
    name = "house"
    def __init__(self, request):
        self.request = request
"""


def install(folder: Path, provider: str) -> None:
    """A package that registers a provider, as pip would leave it."""
    (folder / "house_chat.py").write_text(THIRD_PARTY)
    info = folder / "house_chat-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-chat\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[lamina.chat_models]\n{provider} = house_chat:Model\n")


async def test_no_model_is_configured_by_default() -> None:
    assert create_chat_model(LlmSettings(), environ={}) is None


async def test_a_compatible_endpoint_is_asked_as_the_settings_say(server: ChatServer) -> None:
    settings = LlmSettings(model=" llama3 ", base_url=server.url, api_key_env="MY_KEY", max_output_tokens=12)
    model = create_chat_model(settings, environ={"MY_KEY": "k-1"})
    assert isinstance(model, OpenAIChatModel)
    await model.complete(question())
    assert (server.requests[0]["model"], server.requests[0]["max_tokens"]) == ("llama3", 12)
    assert server.headers[0]["authorization"] == "Bearer k-1"
    await model.aclose()


async def test_openai_without_a_key_is_refused_and_the_variable_is_named() -> None:
    with pytest.raises(ConfigurationError, match="MY_KEY"):
        create_chat_model(LlmSettings(model="gpt-4o-mini", api_key_env="MY_KEY"), environ={})


async def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="no chat model of the kind 'oracle'; known are: openai"):
        create_chat_model(LlmSettings(provider="oracle", model="m"), environ={})


async def test_a_third_party_adds_a_provider_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "house")
    monkeypatch.syspath_prepend(tmp_path)
    model = create_chat_model(LlmSettings(provider="House", model="m1"), environ={"A": "b"})
    assert model is not None
    assert model.name == "house"
    assert vars(model)["request"].model == "m1"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"provider": " "}, "provider"),
        ({"model": ""}, "model must not be empty"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LlmSettings(**wrong)  # type: ignore[arg-type]
