"""Who may come in, and whose key goes where."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import openai
import pytest

from lamina.access.secret import new_secret
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.access import check_access, key_from, require_safe
from lamina.proxy.error import EndpointError
from tests.proxy.served import House, house

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def keyed(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An endpoint with a key of its own before an upstream with another."""
    path = tmp_path_factory.mktemp("keyed") / "lamina.db"
    shutil.copy(migrated_file, path)
    settings = {
        "access_key_env": "OUR_KEY",
        "upstream_key_env": "THEIR_KEY",
        "environ": {"OUR_KEY": "ours-123", "THEIR_KEY": "theirs-456"},
    }
    with house(str(path), proxy=settings) as opened:
        yield opened
        opened.close_clients()


def test_a_client_with_the_key_gets_in_and_the_upstream_gets_its_own(keyed: House) -> None:
    assert keyed.client(key="ours-123").chat.completions.create(**ASKED).choices[0].message.content == "Hello."  # type: ignore[call-overload]
    sent = keyed.upstream.headers[-1]
    assert sent["authorization"] == "Bearer theirs-456"
    assert "ours-123" not in str(sent)


@pytest.mark.parametrize("given", ["wrong", "ours-1234", "theirs-456"])
def test_a_client_without_it_does_not(keyed: House, given: str) -> None:
    keyed.upstream.requests.clear()
    with pytest.raises(openai.AuthenticationError) as raised:
        keyed.client(key=given).chat.completions.create(**ASKED)  # type: ignore[call-overload]
    assert raised.value.code == "invalid_api_key"
    assert given not in str(raised.value)
    assert keyed.upstream.requests == []


@pytest.mark.parametrize(
    ("header", "value", "code"),
    [
        ("host", "evil.example:7078", "forbidden_host"),
        ("host", "", "forbidden_host"),
        ("origin", "https://evil.example", "forbidden_origin"),
        ("origin", "null", "forbidden_origin"),
        ("origin", "http://[bad", "forbidden_origin"),
    ],
)
def test_pages_of_other_places_do_not_reach_a_model_through_it(
    served: House, header: str, value: str, code: str
) -> None:
    answer = served.post("/chat/completions", json=ASKED, headers={header: value})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)
    assert served.upstream.requests == []


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "http://app.localhost"])
def test_pages_of_this_machine_do(served: House, origin: str) -> None:
    assert served.post("/chat/completions", json=ASKED, headers={"origin": origin}).status_code == 200


def test_the_key_of_a_client_passes_in_every_form_that_there_is(served: House) -> None:
    httpx2.post(f"{served.url}/chat/completions", json=ASKED, headers={"api-key": "azure-key"})
    assert served.upstream.headers[0]["api-key"] == "azure-key"


def test_an_endpoint_that_stands_alone_passes_keys_of_another_service_on(served: House) -> None:
    secret = new_secret()[1]
    served.client(key=secret).chat.completions.create(**ASKED)  # type: ignore[call-overload]
    assert served.upstream.headers[0]["authorization"] == f"Bearer {secret}"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_other_machines_are_let_in_with_a_key_only(host: str) -> None:
    with pytest.raises(ConfigurationError, match="this machine only"):
        require_safe(ProxySettings(host=host))
    require_safe(ProxySettings(host=host, access_key_env="OUR_KEY"))


@pytest.mark.parametrize("value", ["", "  ", "with space", "ümlaut"])
def test_a_variable_without_a_key_is_refused_and_its_value_not_shown(value: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        key_from("OUR_KEY", {"OUR_KEY": value})
    assert not value.strip() or value not in str(raised.value)
    assert key_from("", {}) is None


def test_a_key_is_compared_as_it_is() -> None:
    check_access([(b"authorization", b"bearer k")], key="k")
    for header in (b"", b"Bearer", b"Basic k", b"Bearer K", b"Bearer k k"):
        with pytest.raises(EndpointError):
            check_access([(b"authorization", header)], key="k")
