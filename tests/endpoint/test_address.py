"""Addresses and keys, without a network."""

import pytest

from lamina.endpoint.address import OPENAI_URL, api_key, host_of
from lamina.errors import ConfigurationError


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (OPENAI_URL, "api.openai.com"),
        ("http://localhost:11434/v1", "localhost:11434"),
        ("https://ann:hidden@models.example/v1", "models.example"),
        ("http://[::1]:8080/v1", "::1:8080"),
    ],
)
def test_a_host_is_shown_without_credentials(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize(
    "address", ["", "localhost:11434", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url must be an address"):
        host_of(address)


def test_only_openai_itself_needs_a_key() -> None:
    assert api_key("MY_KEY", "localhost:11434", {}) == "not-needed"
    with pytest.raises(ConfigurationError, match="MY_KEY"):
        api_key("MY_KEY", "api.openai.com", {"MY_KEY": "  "})
    assert api_key("MY_KEY", "api.openai.com", {"MY_KEY": " sk-1 \n"}) == "sk-1"


@pytest.mark.parametrize("key", ["schlüssel", "two words", "line\nbreak"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        api_key("MY_KEY", "localhost", {"MY_KEY": key})
    assert key not in caught.value.message
