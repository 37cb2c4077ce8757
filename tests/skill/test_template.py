"""Templates show data and nothing else, within limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInputError, LaminaError, SkillFailedError
from lamina.kernel.clock import ManualClock, SystemClock
from lamina.skill.template import MOST_TURNS, Limits, check_template, render_template

LIMITS = Limits(seconds=2, output_bytes=10_000)

REACHING = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ who['__class__'] }}",
    "{{ who|attr('__class__') }}",
    "{{ who.__init__.__globals__ }}",
    "{{ config }}{{ self.__dict__ }}",
    "{{ self }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ who.format_map(who) }}",
    "{{ '%s'|format(who) }}",
    "{{ range(10) }}",
    "{{ namespace() }}",
    "{{ joiner('') }}",
    "{{ who() }}",
    "{% set x = 1 %}",
    "{% import 'os' as os %}",
    "{% include '/etc/passwd' %}",
    "{% extends 'x' %}",
    "{% macro m() %}{% endmacro %}",
    "{% call x() %}{% endcall %}",
    "{% filter upper %}x{% endfilter %}",
    "{% block b %}{% endblock %}",
    "{% with x = 1 %}{% endwith %}",
    "{{ 'a' * 1000000000 }}",
    "{{ 9 ** 999999 }}",
    "{{ who ~ who }}",
    "{{ who|replace('a', who) }}",
    "{{ who|center(1000000000) }}",
    "{{ who|map('upper')|list }}",
    "{{ who|join(who) }}",
    "{% for a in x %}{% for b in x %}{% for c in x %}{% for d in x %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in x recursive %}{{ loop(a) }}{% endfor %}",
    "{% if a %}" * 500 + "{% endif %}" * 500,
    "{{ unclosed",
    "{{ " + "(" * 500 + "a" + ")" * 500 + " }}",
]


@pytest.mark.requirement("knowledge.skill.run-template")
@pytest.mark.parametrize("template", REACHING)
def test_a_template_that_does_more_than_show_data_is_refused(template: str) -> None:
    with pytest.raises(InvalidInputError):
        check_template(template)


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("{{ x[y] }}", {"x": "a", "y": "__class__"}),
        ("{{ x[y] }}", {"x": {}, "y": "__init__"}),
        ("{{ x.items }}", {"x": {"a": 1}}),
        ("{{ x.upper }}", {"x": "a"}),
        ("{{ x.a.b }}", {"x": {}}),
    ],
)
def test_values_lead_into_data_only(template: str, values: dict[str, object]) -> None:
    with pytest.raises(SkillFailedError):
        render_template(template, values, limits=LIMITS, clock=SystemClock())


@pytest.mark.requirement("knowledge.skill.run-template")
def test_data_is_shown() -> None:
    template = (
        "Dear {{ who|title }},{% for one in items if one.open %}\n{{ loop.index }}. {{ one.name }}{% endfor %}"
        "{% if not items %} nothing{% endif %}\n{{ tags|join(', ') }} {{ count|default(3) }}\n"
    )
    values = {"who": "ann", "items": [{"name": "x", "open": True}, {"name": "y", "open": False}], "tags": ["a", "b"]}
    shown = render_template(template, {**values, "count": 2}, limits=LIMITS, clock=SystemClock())
    assert shown == "Dear Ann,\n1. x\na, b 2\n"
    assert check_template(template) == {"who", "items", "tags", "count"}


def test_what_values_say_is_never_read_as_a_template() -> None:
    shown = render_template("{{ a }}", {"a": "{{ b }}{% raw %}"}, limits=LIMITS, clock=SystemClock())
    assert shown == "{{ b }}{% raw %}"


def test_loops_are_counted_together() -> None:
    template = "{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}"
    with pytest.raises(SkillFailedError, match=f"more than {MOST_TURNS}"):
        render_template(template, {"x": [0] * 1_000}, limits=LIMITS, clock=SystemClock())


def test_output_is_bounded() -> None:
    with pytest.raises(SkillFailedError, match="10000 bytes"):
        render_template(
            "{% for a in x %}{{ y }}{% endfor %}", {"x": [0] * 99, "y": "é" * 99}, limits=LIMITS, clock=SystemClock()
        )


def test_time_is_bounded() -> None:
    class Racing(ManualClock):
        def monotonic(self) -> float:
            self.advance(0.1)
            return super().monotonic()

    with pytest.raises(SkillFailedError, match="too long"):
        render_template("{% for a in x %}{% endfor %}", {"x": [0] * 99}, limits=LIMITS, clock=Racing())


@given(st.text(alphabet="{}%#|.[]()'\"_ abforinx\\\n-", max_size=60))
def test_no_text_does_anything_but_render_or_be_refused(template: str) -> None:
    try:
        needed = check_template(template)
        render_template(template, dict.fromkeys(needed, "v"), limits=LIMITS, clock=SystemClock())
    except LaminaError:
        pass
