"""Refuses every connection that would leave the machine, so that no test depends on the outside world."""

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest


class OutsideConnectionError(RuntimeError):
    """A test tried to reach something other than loopback."""


def stays_inside(family: int, address: Any) -> bool:
    """Whether an address of this socket family is on this machine: loopback or a Unix socket."""
    if family == socket.AF_UNIX:
        return True
    return isinstance(address, tuple) and is_loopback(address[0])


def is_loopback(host: Any) -> bool:
    """Whether a host as given to `connect` or `getaddrinfo` is this machine; None stands for it, too."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


def refuse_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make connecting, sending a datagram and resolving a name raise unless the target is this machine."""

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, *args: Any) -> Any:
            if not stays_inside(self.family, args[-1]):
                raise OutsideConnectionError(f"a test reached out to {args[-1]!r}")
            return original(self, *args)

        return call

    for verb in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, verb, guarded(getattr(socket.socket, verb)))

    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_loopback(host):
            raise OutsideConnectionError(f"a test asked for the address of {host!r}")
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
