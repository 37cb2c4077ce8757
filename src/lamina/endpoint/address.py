"""Where an endpoint is and which key it gets. Not for connecting."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lamina.errors import ConfigurationError

OPENAI_URL: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "not-needed"


def host_of(base_url: str) -> str:
    """Host and port of an address, without credentials in it; raises ConfigurationError for no address."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigurationError("base_url must be an address such as http://localhost:11434/v1.")
    return host if port is None else f"{host}:{port}"


def is_openai(host: str) -> bool:
    """Whether a host is OpenAI's own, which needs a key and knows its newest parameters."""
    return host == "api.openai.com" or host.endswith(".openai.com")


def api_key(variable: str, host: str, environ: Mapping[str, str]) -> str:
    """The key that the environment variable holds; a placeholder where a local endpoint needs none.

    Raises ConfigurationError when OpenAI's key is missing, or the value cannot be sent.
    """
    key = environ.get(variable, "").strip()
    if not key:
        if is_openai(host):
            raise ConfigurationError(
                f"OpenAI needs a key: set the environment variable {variable}, or set base_url to another endpoint."
            )
        return _NO_KEY
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(f"The value of {variable} cannot be sent as a key.")
    return key
