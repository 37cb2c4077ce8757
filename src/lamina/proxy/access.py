"""Who may come in where the endpoint stands alone: whoever has its one key, or this machine. Pure."""

import hmac
from collections.abc import Mapping
from typing import Final

from lamina.access.loopback import foreign_part, is_this_machine
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.proxy.error import EndpointError
from lamina.proxy.headers import RawHeaders, text_of

_SCHEME: Final = "bearer "


def key_from(variable: str, environ: Mapping[str, str]) -> str | None:
    """The key that a variable holds, None where none is named. Raises ConfigurationError when there is no key in it."""
    if not variable:
        return None
    key = environ.get(variable, "").strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(f"The environment variable {variable} holds no key that can be sent.")
    return key


def require_safe(settings: ProxySettings) -> None:
    """Raise ConfigurationError for an endpoint that other machines reach and nobody needs a key for."""
    if not is_this_machine(settings.host) and not settings.access_key_env:
        raise ConfigurationError(
            f"Without keys the endpoint listens on this machine only, not on {settings.host}.",
            details={"name": "proxy.host", "next": "Set proxy.access_key_env to a variable that holds a key."},
        )


def check_access(headers: RawHeaders, *, key: str | None) -> None:
    """Let a request in or raise EndpointError; `key` is the one that clients must send, where there is one."""
    if key is not None:
        sent = text_of(headers, "authorization") or ""
        given = sent[len(_SCHEME) :].strip() if sent.lower().startswith(_SCHEME) else ""
        if not hmac.compare_digest(given.encode(), key.encode()):
            raise EndpointError(401, "invalid_api_key", "This endpoint needs its key: send it as the client's API key.")
        return
    foreign = foreign_part(host=text_of(headers, "host"), origin=text_of(headers, "origin"))
    if foreign == "host":
        raise EndpointError(403, "forbidden_host", "This endpoint is called by this machine's own name only.")
    if foreign == "origin":
        raise EndpointError(403, "forbidden_origin", "This endpoint answers no page of another place.")
