"""Files that mean harm, or are noise: an error of the house, never another one, and nothing runs."""

import contextlib
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInputError
from lamina.importing.chatgpt import read_chatgpt
from lamina.importing.claude import read_claude
from lamina.importing.json_files import json_items
from lamina.importing.langgraph import read_langgraph
from lamina.importing.mem0 import read_mem0
from lamina.importing.pickled import read_pickled
from lamina.importing.types import Found
from lamina.memory.types import Identifiers
from tests.importing.foreign import chatgpt_node

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
_NAMES = (
    *("id", "uuid", "conversation_id", "mapping", "current_node", "chat_messages", "message", "parent", "author"),
    *("role", "sender", "content", "parts", "text", "type", "name", "memory", "user_id", "namespace", "key", "value"),
    *("attachments", "files", "categories", "create_time", "created_at", "weight", "metadata", "recipient", "input"),
)
SHAPED = st.recursive(
    JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=6),
    max_leaves=25,
)


@given(PLAIN, st.sampled_from([0, 1, 2, 3, 4, 5]))
def test_plain_data_is_read_as_it_was_pickled(value: Any, protocol: int) -> None:
    assert read_pickled(pickle.dumps(value, protocol)) == value


@given(st.binary(max_size=200), st.integers(0, 60))
def test_noise_in_a_pickle_is_refused_or_read(noise: bytes, cut: int) -> None:
    good = pickle.dumps({"a": [1, "x"], "b": (2.5, None)})
    for raw in (noise, good[:cut] + noise, noise[:cut] + good):
        with contextlib.suppress(InvalidInputError):
            read_pickled(raw)


@given(st.lists(SHAPED, max_size=3))
def test_any_json_is_read_to_its_end_or_refused(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "conversations.json"
    path.write_text(json.dumps(values))
    for read in (read_chatgpt, read_claude, read_mem0, read_langgraph):
        try:
            found: list[Found] = list(read(path, Identifiers(user_id="ann")))
        except InvalidInputError:
            continue
        assert all(isinstance(one, Found) for one in found)


@given(st.sampled_from(_NAMES), JSON, st.sampled_from(_NAMES), JSON)
def test_a_field_of_any_kind_breaks_no_reader(
    tmp_path_factory: pytest.TempPathFactory, first: str, one: Any, second: str, other: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "conversations.json"
    wrong = {first: one, second: other}
    node = chatgpt_node("a", None, "user", "Hello")
    block = {"type": "tool_use", "name": "x", "input": {}, **wrong}
    said = {"uuid": "m", "sender": "human", "text": "Hello", "content": [block, {"type": "text", "text": "x"}]}
    conversations = [
        {"id": "c", "uuid": "c", "mapping": {"a": node}, "current_node": "a", "chat_messages": [said], **wrong},
        {"id": "d", "mapping": {"a": {**node, "message": {**node["message"], **wrong}}}, "uuid": "d"},
        {"uuid": "e", "chat_messages": [{**said, **wrong}], "memory": "x", "user_id": "ann"},
        {"id": "f", "memory": "x", "user_id": "ann", "namespace": ["a"], "key": "k", "value": {"a": 1}, **wrong},
    ]
    path.write_text(json.dumps(conversations))
    for read in (read_chatgpt, read_claude, read_mem0, read_langgraph):
        assert all(isinstance(found, Found) for found in read(path, Identifiers(user_id="ann")))


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.importing.json_files._LARGEST_ITEM", 1 << 22)
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", '["' + "a" * (1 << 24))
    (tmp_path / "bomb.zip").write_bytes(raw.getvalue())
    assert len(raw.getvalue()) < 100_000
    with pytest.raises(InvalidInputError, match="too large"):
        list(json_items(tmp_path / "bomb.zip"))


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("conversations.json", json.dumps([{"uuid": "x" * 1000}]))
    damaged = bytearray(raw.getvalue())
    damaged[200:210] = b"0123456789"
    (tmp_path / "bad.zip").write_bytes(damaged)
    with pytest.raises(InvalidInputError, match=r"bad\.zip"):
        list(json_items(tmp_path / "bad.zip"))
