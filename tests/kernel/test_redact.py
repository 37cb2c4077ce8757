"""Secrets are hidden, ordinary text is not touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.kernel.redact import is_secret_name, redact, redact_value

SECRETS = {
    "AKIAIOSFODNN7EXAMPLE": "id AKIAIOSFODNN7EXAMPLE here",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "remote: ghp_abcdefghijklmnopqrstuvwxyz0123456789 denied",
    "sk-proj-abc123DEF456ghi789JKL": "OPENAI_API_KEY=sk-proj-abc123DEF456ghi789JKL",
    "xoxb-123456789012-abcdefghijkl": "slack said xoxb-123456789012-abcdefghijkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "hunter2secret": "postgresql://app:hunter2secret@db.internal:5432/prod",
    "tr0ub4dor&3": "export DB_PASSWORD='tr0ub4dor&3'",
    "correcthorse": '{"password": "correcthorse"}',
    "s3cr3tvalue": "login --password s3cr3tvalue --user ann",
    "abc123DEF456ghi789": "curl -H 'Authorization: Bearer abc123DEF456ghi789' https://x",
    "QWxhZGRpbjpvcGVuIHNlc2FtZQ==": "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "a1b2c3d4e5": "client-secret: a1b2c3d4e5",
    "MIIEowIBAAKCAQEA": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END PRIVATE KEY-----",
    "Zx9Kq2Lm": "the password is Zx9Kq2Lm, do not tell",
    "Yw8Jp3Kn": "The password of the database is Yw8Jp3Kn, please remember it",
    "Xv7Hn4Jm": "the token for the new staging server is Xv7Hn4Jm9qRt2",
    "Qs7vR2mXw9": "curl -sS -u admin:Qs7vR2mXw9 https://x",
    "swordfish": "curl --user 'ann:swordfish' https://x",
    "Ws4nT8kJp2": "http --user bob:Ws4nT8kJp2 x",
    "Hd3fG6yUz1": "sshpass -p Hd3fG6yUz1 ssh host",
    "Lk9bN5cVe4": "mysql -h db -u root -pLk9bN5cVe4 prod",
    "Mj2hY7tRf6": "docker login -u ann -p Mj2hY7tRf6 registry.example",
    "Bx5qA1sDw8": "wrong password 'Bx5qA1sDw8' for ann",
    "Ge8rT3zUi7": "Anmeldung mit Passwort: Ge8rT3zUi7",
    "Nc6pO4lKj9": "пароль: Nc6pO4lKj9",
    "Ty1eW5qXa3": "密码：Ty1eW5qXa3",
    "Zm9vYmFyMTIz%3D": "https://acct.blob.core.windows.net/c/f.txt?sv=2022-11-02&sig=Zm9vYmFyMTIz%3D&se=2025",
    "fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024": (
        "GET /f?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024&x=1"
    ),
    "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404": (
        "Credential=x/20130524/us-east-1/s3, Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    ),
    "493021": "your otp=493021 is valid for a minute",
    "771204": "OTP: 771204",
    "660318": "one-time code is 660318",
    "905417": "verification code 905417",
    "4711": "PIN: 4711",
    "8842": "the pin is 8842",
    "737": "CVV: 737",
    "a1B2c3D4e5F6": "GET /hook?auth=a1B2c3D4e5F6&x=1",
    "q9W8e7R6t5": "connect host=db auth=q9W8e7R6t5",
    "swordfish7": "requests.get(url, auth=('ann', 'swordfish7'))",
    "ann.lee@example.com": "mail ann.lee@example.com about it",
}
ORDINARY = [
    "",
    "The token limit is 4096 and the next token is predicted.",
    "Enter your password: it must have 12 characters.",
    "the password of the user is required; the token for the deploy is missing",
    "password is required; secret must not be empty; token expired",
    "commit 3f2a1c9d0b8e7f6a5d4c3b2a1908f7e6d5c4b3a2 (HEAD -> main)",
    "id 550e8400-e29b-41d4-a716-446655440000 not found in /var/lib/lamina/store.db:5432",
    "git@github.com:lamina/lamina.git and nginx@1.service",
    "def login(password: str, token: Token | None = None) -> None: ...",
    "https://example.org:8080/path?page=2&sort=name#section",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "The compass: north. Bypass = valve. A keyboard, a monkey: key points of the passage.",
    "SELECT * FROM users WHERE password = ? AND token = $1",
    "東京は日本の首都です。パスワードは秘密です。",
    "docker run -u app:staff --user 1000:1000 image; chown -R app:app . && sudo -u postgres psql",
    "mysql -h db -P3306 -u root -p prod; sshpass -p $PASS ssh host; curl -u $USER:$PASS x; mkdir -p a/b",
    "Unexpected token 'x2foo' in JSON; the password 'correct horse' has two words",
    "ThisIsAVeryLongCamelCaseIdentifierForAService",
    "auth=basic auth: oauth2 --auth=ldap auth=None auth = HTTPBasicAuth(user, key) auth=('user', password)",
    "auth: httpx2.Auth = oauth2.auth; get(url, auth=('user', 'pass'))",
    "pin 13 of the plug, pin: 7, GPIO pin = 13, pinned: 1234, spin=12345, opinion: 1000, PIN code",
    "the sig of def f(x): sig = inspect.signature(f); signature: (a, b) -> c; gpg --verify file.sig",
    "OTP 27 is a release of Erlang, totp is a module, cvv is required, cvc: 42",
    "security code review 2024, verification code is sent by mail; one-time code: see below",
    "design=1234567890a blog?signed=2024-05-01T10:00 auth.py:1234 author=ann2024x signature_version=s3v4",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_hidden_wherever_it_stands(secret: str) -> None:
    for text in (
        SECRETS[secret],
        f"\n  {SECRETS[secret]}\nand so on",
        json.dumps({"log": SECRETS[secret]}, ensure_ascii=False),
    ):
        assert secret not in redact(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.lists(st.sampled_from([*SECRETS.values(), *ORDINARY, "x", " ", "=", ": ", "\n", '"', "@", "password"])))
def test_redacting_twice_changes_nothing(parts: list[str]) -> None:
    once = redact(" ".join(parts))
    assert redact(once) == once


@given(st.text(max_size=300))
def test_any_text_can_be_redacted_twice(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "eyJ-",
        "M-",
        "://:",
        "@-----BEGIN RSA PRIVATE KEY-----",
        "password: x\n",
        "sig=",
        "otp_",
        "a_",
        "auth=('x',",
    ],
)
def test_a_long_text_that_almost_holds_secrets_takes_no_longer_than_its_length(unit: str) -> None:
    # Were the time to grow with the square of the length, this would not end.
    text = unit * (100_000 // len(unit))
    assert len(redact(text)) > 0


def test_a_key_that_was_cut_off_does_not_hide_the_one_after_it() -> None:
    cut = "-----BEGIN PRIVATE KEY-----\nMIIEow@"
    whole = "-----BEGIN PRIVATE KEY-----\nMIIEpQ@IBAA\n-----END PRIVATE KEY-----"
    hidden = redact(f"{cut} and {whole} and text")
    assert "MIIE" not in hidden
    assert hidden.endswith(" and text")


def test_addresses_of_people_stay_where_asked() -> None:
    text = "mail ann@example.com, password=tr0ub4dor1"
    assert redact(text, emails=False) == "mail ann@example.com, password=[redacted]"
    value = {"to": "ann@example.com", "password": "x", "list": ["bob@example.com"]}
    assert redact_value(value, emails=False) == {**value, "password": "[redacted]"}
    assert redact_value(value) == {"to": "[email]", "password": "[redacted]", "list": ["[email]"]}


def test_values_keep_their_shape_and_lose_their_secrets() -> None:
    value = {
        "params": {"apiKey": "abc", "retries": 3, "flag": True, "none": None, "nested": {"token": {"a": 1}}},
        "argv": ["--token", "abc", "--verbose"],
        "headers": [["Authorization", "abc"], ["Accept", "text"]],
        "env": [{"name": "DB_PASSWORD", "value": "abc"}, {"name": "HOME", "value": "/root"}],
        "tuple": (1, "two"),
        "bytes": b"abc",
    }
    assert redact_value(value) == {
        "params": {"apiKey": "[redacted]", "retries": 3, "flag": True, "none": None, "nested": {"token": {"a": 1}}},
        "argv": ["--token", "[redacted]", "--verbose"],
        "headers": [["Authorization", "[redacted]"], ["Accept", "text"]],
        "env": [{"name": "DB_PASSWORD", "value": "[redacted]"}, {"name": "HOME", "value": "/root"}],
        "tuple": [1, "two"],
        "bytes": "[3 bytes]",
    }


def test_short_codes_and_signatures_are_hidden_under_their_names() -> None:
    value = {
        "otp": "493021",
        "pin": 4711,
        "sig": "Zm9vYmFyMTIz",
        "auth": "a1B2c3D4e5F6",
        "X-Amz-Signature": "fe5f80f77d",
    }
    assert redact_value(value) == dict.fromkeys(value, "[redacted]")
    ordinary = {
        "auth": "basic",
        "pin": 13,
        "sig": "str",
        "pinned": 12345,
        "otp": True,
        "auth_mode": "ldap2",
        "code": 4711,
    }
    assert redact_value(ordinary) == ordinary


def test_what_refers_to_itself_is_cut() -> None:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    assert "[too deep]" in str(redact_value(cyclic))


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "apiKey", "X-Auth-Token", "client_secret", "Cookie"])
def test_a_name_announces_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["compass", "bypass", "keyboard", "tokens_used", "path", "", None, 3])
def test_another_name_does_not(name: object) -> None:
    assert not is_secret_name(name)
