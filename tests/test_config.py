"""Where settings come from, which source wins, and what is refused."""

from dataclasses import fields
from pathlib import Path

import pytest

from lamina.config import LoadedSettings, Settings, load_settings
from lamina.errors import ConfigurationError
from lamina.memory.settings import MemorySettings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a configuration file."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "lamina.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_source_everything_is_a_default() -> None:
    loaded = load_settings(environ={})
    assert loaded.settings == Settings()
    assert {row.origin for row in loaded.rows()} == {"default"}
    assert loaded.settings.memory.threshold == 0.7
    assert loaded.settings.database.url == "lamina.db"


def test_each_source_overrides_the_one_before_it_field_by_field(empty_folder: Path) -> None:
    write(empty_folder, "[memory]\nthreshold = 0.1\nsearch_limit = 11\nlist_limit = 12\ntenant = 'file'")
    environ = {"LAMINA_MEMORY__SEARCH_LIMIT": "21", "LAMINA_MEMORY__LIST_LIMIT": "22"}
    loaded = load_settings(environ=environ, memory={"list_limit": 32})
    memory = loaded.settings.memory
    assert (memory.threshold, memory.search_limit, memory.list_limit) == (0.1, 21, 32)
    assert loaded.origin("memory.threshold") == "file lamina.toml"
    assert loaded.origin("memory.search_limit") == "environment LAMINA_MEMORY__SEARCH_LIMIT"
    assert loaded.origin("memory.list_limit") == "argument"
    assert loaded.origin("memory.max_list_limit") == "default"


def test_the_file_is_the_given_one_then_the_variable_s_then_the_folder_s(empty_folder: Path) -> None:
    write(empty_folder, "[memory]\ntenant = 'folder'")
    named = write(empty_folder, "[memory]\ntenant = 'named'", "named.toml")
    given = write(empty_folder, "[memory]\ntenant = 'given'", "given.toml")
    environ = {"LAMINA_CONFIG": str(named)}

    def tenant(loaded: LoadedSettings) -> str:
        return loaded.settings.memory.tenant

    assert tenant(load_settings(given, environ=environ)) == "given"
    assert tenant(load_settings(environ=environ)) == "named"
    assert tenant(load_settings(environ={})) == "folder"


def test_the_process_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_INDEX__MEMORY_LIMIT_MB", "64")
    assert load_settings().settings.index.memory_limit_mb == 64


def test_the_store_has_a_short_variable_and_the_full_one_wins() -> None:
    short = load_settings(environ={"LAMINA_STORE": "short.db"})
    assert short.settings.database.url == "short.db"
    assert short.origin("database.url") == "environment LAMINA_STORE"
    both = load_settings(environ={"LAMINA_DATABASE__URL": "full.db", "LAMINA_STORE": "short.db"})
    assert both.settings.database.url == "full.db"


def test_arguments_may_be_sections_objects_or_dotted_names() -> None:
    dotted = load_settings(environ={}, overrides={"memory.threshold": 0.5, "retry": {"retries": 0}})
    assert (dotted.settings.memory.threshold, dotted.settings.retry.retries) == (0.5, 0)
    whole = load_settings(environ={"LAMINA_MEMORY__TENANT": "t"}, memory=MemorySettings(threshold=0.2))
    assert whole.settings.memory == MemorySettings(threshold=0.2)
    assert whole.origin("memory.tenant") == "argument"


def test_an_empty_prefix_is_not_the_same_as_an_unset_one() -> None:
    assert load_settings(environ={}).settings.embedding.query_prefix is None
    assert load_settings(environ={"LAMINA_EMBEDDING__QUERY_PREFIX": ""}).settings.embedding.query_prefix == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[memory]\ntreshold = 1", "no setting memory.treshold; did you mean memory.threshold?"),
        ("[memry]\nthreshold = 1", "no setting memry; did you mean memory?"),
        ("threshold = 1", "no setting threshold; did you mean memory.threshold?"),
        (
            "[embedding]\napi_key = 'sk-1'",
            "no setting embedding.api_key; did you mean embedding.api_key_env?",
        ),
        ("memory = 3", "memory is a section"),
    ],
)
def test_an_unknown_name_in_the_file_is_refused_with_the_nearest_one(
    empty_folder: Path, text: str, complaint: str
) -> None:
    write(empty_folder, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ={})
    assert caught.value.message.startswith("file lamina.toml: ")
    assert complaint in caught.value.message
    assert "sk-1" not in str(caught.value.to_dict())


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [("LAMINA_MEMORY__TRESHOLD", "LAMINA_MEMORY__THRESHOLD"), ("LAMINA_STOER", "LAMINA_STORE")],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(variable: str, nearest: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{variable}; did you mean {nearest}"):
        load_settings(environ={variable: "1"})


def test_an_unknown_argument_and_an_unknown_name_asked_for_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean memory\.tenant"):
        load_settings(environ={}, memory={"tennant": "x"})
    with pytest.raises(ConfigurationError, match=r"did you mean memory\.tenant"):
        load_settings(environ={}).origin("memory.tennant")


def test_variables_of_others_and_the_one_that_holds_the_key_are_left_alone() -> None:
    environ = {"PATH": "/bin", "LAMINA_KEY": "sk-1", "LAMINA_EMBEDDING__API_KEY_ENV": "LAMINA_KEY"}
    loaded = load_settings(environ=environ)
    assert loaded.settings.embedding.api_key_env == "LAMINA_KEY"
    assert "sk-1" not in str([row.value for row in loaded.rows()])
    chat = load_settings(environ={"LAMINA_KEY": "sk-1", "LAMINA_LLM__API_KEY_ENV": "LAMINA_KEY"})
    assert chat.settings.llm.api_key_env == "LAMINA_KEY"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory.threshold", "warm"),
        ("memory.threshold", "1.5"),
        ("memory.threshold", "nan"),
        ("memory.search_limit", "0"),
        ("memory.search_limit", "101"),
        ("memory.max_search_limit", "5"),
        ("memory.max_content_length", "0"),
        ("memory.tenant", " "),
        ("memory.sweep_interval_s", "-1"),
        ("database.url", ""),
        ("database.busy_timeout_s", "inf"),
        ("database.busy_timeout_s", "-1"),
        ("database.pool_size", "0"),
        ("database.group_commit_max", "2.5"),
        ("index.memory_limit_mb", "0"),
        ("embedding.model", ""),
        ("embedding.dimensions", "0"),
        ("embedding.batch_size", "0"),
        ("embedding.timeout_s", "0"),
        ("embedding.max_tokens", "0"),
        ("embedding.pooling", "sum"),
        ("retry.retries", "-1"),
        ("retry.jitter", "1"),
        ("logging.level", "loud"),
    ],
)
def test_a_wrong_value_is_refused_naming_source_and_field(name: str, value: str) -> None:
    variable = "LAMINA_" + name.replace(".", "__").upper()
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ={variable: value})
    assert caught.value.message.startswith(f"environment {variable}: {name}: ")


def test_all_wrong_values_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ={}, memory={"threshold": "x"}, retry={"retries": "y"})
    assert len(caught.value.details["problems"]) == 2  # type: ignore[arg-type]


def test_a_file_that_is_missing_or_broken_is_refused_by_name(empty_folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*missing\.toml"):
        load_settings(empty_folder / "missing.toml", environ={})
    with pytest.raises(ConfigurationError, match=r"cannot read nowhere\.toml"):
        load_settings(environ={"LAMINA_CONFIG": "nowhere.toml"})
    write(empty_folder, "[memory\n")
    with pytest.raises(ConfigurationError, match=r"lamina\.toml is not valid TOML"):
        load_settings(environ={})
    (empty_folder / "lamina.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"lamina\.toml is not valid TOML"):
        load_settings(environ={})


def test_rows_show_every_setting_once_with_its_meaning() -> None:
    rows = list(load_settings(environ={}).rows())
    expected = [
        f"{section}.{field.name}" for section in Settings.model_fields for field in fields(getattr(Settings(), section))
    ]
    assert [row.name for row in rows] == expected
    assert all(row.help.endswith(".") for row in rows)


def test_rows_say_what_a_setting_takes_and_which_variable_sets_it() -> None:
    rows = {row.name: row for row in load_settings(environ={}).rows()}
    assert rows["memory.threshold"].variable == "LAMINA_MEMORY__THRESHOLD"
    taken = {name: rows[name].type for name in ("memory.threshold", "proxy.embeddings", "llm.model", "graph.enabled")}
    assert taken == {
        "memory.threshold": "number",
        "proxy.embeddings": '"lamina" or "upstream"',
        "llm.model": "text or unset",
        "graph.enabled": "true or false",
    }


def test_a_variable_sets_a_list_with_commas() -> None:
    environ = {"LAMINA_SERVER__CORS_ORIGINS": "https://a.example, https://b.example,"}
    assert load_settings(environ=environ).settings.server.cors_origins == ("https://a.example", "https://b.example")
    assert load_settings(environ={"LAMINA_SERVER__CORS_ORIGINS": ""}).settings.server.cors_origins == ()


def test_rows_mask_the_password_of_the_store_but_the_settings_keep_it() -> None:
    url = "postgresql://lamina:s3cret@db/memory"
    loaded = load_settings(environ={"LAMINA_STORE": url})
    shown = {row.name: row.value for row in loaded.rows()}
    assert shown["database.url"] == "postgresql://lamina:***@db/memory"
    assert loaded.settings.database.url == url
