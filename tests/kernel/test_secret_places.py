"""Where a secret stands."""

import re

import pytest

from lamina.kernel.secret_places import secret_line, secret_path


def test_the_first_line_with_a_secret_is_named() -> None:
    assert secret_line("set -e\necho hello\nexport TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n") == 3
    assert secret_line("a\n-----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----\nb") == 2
    assert secret_line('curl -H "Authorization: Bearer $TOKEN" https://x\nmail ann@example.com') is None


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"headers": [{"name": "x"}, {"token": "abc"}]}, "headers.1.token"),
        ({"url": "https://ann:swordfish7@db/x"}, "url"),
        ({"argv": ["-u", "AKIAIOSFODNN7EXAMPLE"]}, "argv.1"),
        (["password=tr0ub4dor"], "0"),
        ({"password": "{{ inputs.password }}", "token": "$TOKEN", "secret": "", "note": "the token limit"}, None),
        ({"password": {"type": "string", "description": "The password of the user"}, "required": ["password"]}, None),
        ({"n": 3, "none": None}, None),
    ],
)
def test_the_path_of_the_first_secret_is_named(value: object, path: str | None) -> None:
    assert secret_path(value, ignoring=re.compile(r"\{\{.*?\}\}")) == path
