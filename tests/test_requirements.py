"""Every scenario of the specification has a test or waits for later, and no test names another."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.requirement_marks import marks_of
from tests.requirement_trace import Scenario, Trace, load, problems

TESTS = Path(__file__).parent
PROJECT = TESTS.parent


def collected_marks(target: Path, *paths: Path, folder: Path = PROJECT) -> dict[str, list[str]]:
    """The requirement ids of every test that pytest collects under the paths, by test name."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "tests.requirement_marks"]
    command += ["--rootdir", str(folder), "-c", str(PROJECT / "pyproject.toml")]
    command += ["--requirement-marks", str(target), *map(str, paths)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"the tests cannot be collected:\n{run.stdout[-4000:]}{run.stderr[-4000:]}"
    marks: dict[str, list[str]] = json.loads(target.read_text(encoding="utf-8"))
    return marks


def all_marks(session: pytest.Session, target: Path) -> dict[str, list[str]]:
    """The requirement ids of every test there is: a run of everything has collected them already."""
    config = session.config
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    return marks_of(session) if whole and not config.option.markexpr else collected_marks(target, TESTS)


def test_every_scenario_is_tested_or_waits_and_every_mark_is_known(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    marks = all_marks(request.session, tmp_path / "marks.json")
    found = problems(load(TESTS / "requirements.toml"), marks)
    assert not found, "\n".join(["the requirements trace is broken:", *found])


def test_the_documents_have_all_their_scenarios() -> None:
    trace = load(TESTS / "requirements.toml")
    counted = {name: sum(one.document == name for one in trace.scenarios) for name in trace.documents}
    assert counted == {
        "memory-system": 33,
        "context-retriever": 26,
        "observational-memory": 41,
        "knowledge-system": 46,
    }


def test_every_scenario_says_what_must_be_true() -> None:
    trace = load(TESTS / "requirements.toml")
    assert [one.id for one in trace.scenarios if not (one.title and one.sentence.endswith("."))] == []


# The checker itself, on small made-up lists.

NOW = Scenario(id="a.now", document="a", title="Now", sentence="It is so.")
LATER = Scenario(id="a.later", document="a", title="Later", sentence="It will be so.", later="someday")
GOOD = Trace(scenarios=(NOW, LATER), documents={"a": 2}, later_at_most=1)
MARKS = {"test_now": ["a.now"]}


def test_a_list_and_marks_that_agree_have_no_problem() -> None:
    assert problems(GOOD, MARKS) == []


def test_an_unknown_id_in_a_test_is_a_problem() -> None:
    assert problems(GOOD, {**MARKS, "test_else": ["a.typo"]}) == ["test_else: no scenario has the id 'a.typo'"]


def test_a_scenario_without_a_test_is_a_problem() -> None:
    assert problems(GOOD, {}) == ["a.now: no test proves it (Now)"]


def test_a_tested_scenario_that_is_still_listed_as_later_is_a_problem() -> None:
    assert problems(GOOD, {"test_both": ["a.now", "a.later"]}) == [
        "a.later: tested, so it no longer waits for someday; drop its `later`"
    ]


def test_an_id_listed_twice_is_a_problem() -> None:
    twice = replace(GOOD, scenarios=(NOW, NOW, LATER), documents={"a": 3})
    assert problems(twice, MARKS) == ["a.now: listed 2 times"]


def test_a_document_with_a_missing_scenario_is_a_problem() -> None:
    assert problems(replace(GOOD, documents={"a": 3}), MARKS) == ["a: 2 scenarios listed, 3 expected"]


def test_a_scenario_of_an_unlisted_document_is_a_problem() -> None:
    assert problems(replace(GOOD, documents={}), MARKS) == ["a: 2 scenarios listed, 0 expected"]


def test_more_waiting_scenarios_than_recorded_is_a_problem() -> None:
    assert problems(replace(GOOD, later_at_most=0), MARKS) == [
        "1 scenarios wait for later, at most 0 may: the list only shrinks"
    ]


def test_fewer_waiting_scenarios_than_recorded_must_be_recorded() -> None:
    assert problems(replace(GOOD, later_at_most=2), MARKS) == [
        "only 1 scenarios wait for later: lower later_at_most from 2"
    ]


@pytest.mark.parametrize("id", ["plain", "A.b", "a..b", "a.b_c", "a.-b", "a.b."])
def test_an_id_in_another_form_is_a_problem(id: str) -> None:
    trace = Trace(scenarios=(replace(NOW, id=id),), documents={"a": 1})
    assert problems(trace, {"test_now": [id]}) == [
        f"{id}: an id is dotted words of lower case letters, digits and hyphens"
    ]


def test_a_scenario_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "requirements.toml"
    path.write_text('later_at_most = 0\n[documents]\n[[scenario]]\nid = "a.b"\nlatter = "someday"\n')
    with pytest.raises(TypeError, match="latter"):
        load(path)


def test_marks_are_collected_from_functions_classes_modules_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.requirement('m.module')\n"
        "WITH = pytest.mark.requirement('m.parameter')\n"
        "@pytest.mark.requirement('m.one', 'm.two')\n"
        "def test_function(): ...\n"
        "@pytest.mark.requirement('m.class')\n"
        "class TestClass:\n"
        "    @pytest.mark.parametrize('x', [pytest.param(1, marks=WITH), 2])\n"
        "    def test_method(self, x): ...\n"
    )
    marks = collected_marks(tmp_path / "marks.json", tmp_path / "test_marked.py", folder=tmp_path)
    assert {test.partition("::")[2]: sorted(ids) for test, ids in marks.items()} == {
        "test_function": ["m.module", "m.one", "m.two"],
        "TestClass::test_method[1]": ["m.class", "m.module", "m.parameter"],
        "TestClass::test_method[2]": ["m.class", "m.module"],
    }


def test_tests_that_cannot_be_collected_fail_the_trace(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import a_module_that_does_not_exist\n")
    with pytest.raises(AssertionError, match="cannot be collected"):
        collected_marks(tmp_path / "marks.json", tmp_path / "test_broken.py", folder=tmp_path)
