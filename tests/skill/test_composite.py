"""Composites run their steps through the tools, and say where they stopped."""

import anyio
import pytest

from lamina.errors import InvalidInputError, SkillFailedError
from lamina.skill.composite import ToolSet, check_steps, run_steps
from lamina.skill.service import SkillService
from tests.skill.opening import skilled_app

pytestmark = pytest.mark.anyio

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
STEPS: list[object] = [
    {"tool": "weather", "params": {"place": "{{ inputs.city }}"}},
    {"tool": "note", "params": {"text": "In {{ inputs.city }}: {{ steps.1.degrees.0 }}", "raw": "{{ steps.1 }}"}},
]


async def _make(skills: SkillService, steps: list[object]) -> None:
    await skills.create(
        "report", description="Weather note", type="composite", definition={"steps": steps}, parameters=CITY
    )
    await skills.approve("report")


@pytest.mark.requirement("knowledge.skill.run-composite")
async def test_steps_run_in_order_and_refer_to_inputs_and_earlier_results(skills: SkillService) -> None:
    calls: list[tuple[str, dict[str, object]]] = []

    def weather(place: str) -> dict[str, object]:
        calls.append(("weather", {"place": place}))
        return {"degrees": [21, 12]}

    async def note(**params: object) -> str:
        calls.append(("note", params))
        return "noted"

    skills.toolset.add(weather)
    skills.toolset.add(note)
    await _make(skills, STEPS)
    run = await skills.run("report", {"city": "Oslo"})
    assert run.output == "noted"
    assert [(one.step, one.tool) for one in run.steps] == [(1, "weather"), (2, "note")]
    assert calls == [
        ("weather", {"place": "Oslo"}),
        ("note", {"text": "In Oslo: 21", "raw": {"degrees": [21, 12]}}),
    ]


@pytest.mark.requirement("knowledge.skill.run-composite")
async def test_a_failing_step_stops_the_run_and_is_reported_with_what_was_done(skills: SkillService) -> None:
    noted: list[object] = []

    def weather(place: str) -> dict[str, object]:
        return {"degrees": [1]}

    def note(**params: object) -> None:
        raise RuntimeError("no paper; password=hunter2secret99")

    skills.toolset.add(weather)
    skills.toolset.add(note)
    skills.toolset.add(noted.append, name="after")
    await _make(skills, [*STEPS, {"tool": "after", "params": {}}])
    with pytest.raises(SkillFailedError) as caught:
        await skills.run("report", {"city": "Oslo"})
    assert caught.value.details == {"step": 2, "tool": "note", "done": [{"step": 1, "tool": "weather"}]}
    assert "hunter2secret99" not in caught.value.message
    assert noted == []
    found = await skills.get("report")
    assert (found.use_count, found.success_count) == (1, 0)


async def test_an_unknown_tool_and_a_reference_into_nothing_fail_their_step(skills: SkillService) -> None:
    await _make(skills, STEPS)
    with pytest.raises(SkillFailedError, match="no tool 'weather'"):
        await skills.run("report", {"city": "Oslo"})
    skills.toolset.add(lambda place: {}, name="weather")
    with pytest.raises(SkillFailedError, match="leads nowhere"):
        await skills.run("report", {"city": "Oslo"})


async def test_a_composite_that_takes_too_long_is_stopped(sqlite_url: str) -> None:
    async with skilled_app(sqlite_url, timeout_s=0.05) as app:

        async def weather(place: str) -> None:
            await anyio.Event().wait()

        app.skills.toolset.add(weather)
        await _make(app.skills, STEPS[:1])
        with pytest.raises(SkillFailedError, match=r"skill\.timeout_s"):
            await app.skills.run("report", {"city": "Oslo"})
        assert (await app.skills.get("report")).use_count == 1


@pytest.mark.parametrize(
    "steps",
    [
        [],
        {},
        "x",
        [[]],
        [{}],
        [{"params": {}}],
        [{"tool": ""}],
        [{"tool": "a", "params": []}],
        [{"tool": "a", "extra": 1}],
        [{"tool": "a", "params": {"x": "{{ inputs.unknown }}"}}],
        [{"tool": "a", "params": {"x": "{{ steps.1 }}"}}],
        [{"tool": "a", "params": {"x": ["{{ steps.2 }}"]}}, {"tool": "b"}],
        [{"tool": "a", "params": {"x": {"y": "{{ steps.99999999999 }}"}}}],
        [{"tool": "a", "params": {"x": "{{ os.environ }}"}}],
        [{"tool": "a"}] * 51,
    ],
)
def test_steps_that_cannot_work_are_refused(steps: object) -> None:
    with pytest.raises(InvalidInputError):
        check_steps(steps, {"city"})


async def test_a_value_that_looks_like_a_reference_is_not_resolved_again() -> None:
    tools = ToolSet()
    tools.add(lambda x: x, name="echo")
    steps = check_steps([{"tool": "echo", "params": {"x": "{{ inputs.a }}!"}}], {"a", "b"})
    (done,) = await run_steps(steps, {"a": "{{ inputs.b }}", "b": "secret"}, tools.call)
    assert done.result == "{{ inputs.b }}!"
