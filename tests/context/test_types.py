"""The eight layers and who is trusted how far."""

import pytest

from lamina.context.types import DEFAULT_LAYERS, TURN_LAYERS, ContextLayer, Origin, Semantic, parse_place
from lamina.errors import InvalidInputError
from lamina.memory.types import MemoryLayer


@pytest.mark.requirement("context.layers.eight")
def test_there_are_eight_layers() -> None:
    assert [layer.title for layer in ContextLayer] == [
        "Tool Registry",
        "User Knowledge",
        "Skill Patterns",
        "External Knowledge",
        "Agent Learnings",
        "Runtime Context",
        "Observations",
        "Reflections",
    ]


def test_context_layers_and_memory_layers_are_never_mixed_up() -> None:
    assert not {layer.value for layer in ContextLayer} & {layer.value for layer in MemoryLayer}


def test_a_turn_searches_six_layers_and_a_plain_retrieval_four_of_them() -> None:
    assert len(TURN_LAYERS) == 6
    assert set(DEFAULT_LAYERS) < set(TURN_LAYERS)


def test_an_unknown_layer_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidInputError, match="tool_registry") as caught:
        ContextLayer.parse("tools")
    assert caught.value.details["layers"] == [layer.value for layer in ContextLayer]


def test_a_single_name_is_a_list_of_one_layer() -> None:
    assert ContextLayer.parse_all("user_knowledge") == (ContextLayer.USER_KNOWLEDGE,)
    assert ContextLayer.parse_all(ContextLayer.OBSERVATIONS) == (ContextLayer.OBSERVATIONS,)
    twice = ContextLayer.parse_all(["user_knowledge", ContextLayer.USER_KNOWLEDGE, "observations"])
    assert twice == (ContextLayer.USER_KNOWLEDGE, ContextLayer.OBSERVATIONS)


@pytest.mark.parametrize("layers", [5, True, object()])
def test_what_is_no_list_of_layers_is_refused(layers: object) -> None:
    with pytest.raises(InvalidInputError, match="layers must be a list"):
        ContextLayer.parse_all(layers)  # type: ignore[arg-type]


def test_trust_falls_from_the_application_to_imports() -> None:
    assert [origin.trust for origin in Origin] == ["full", "high", "medium", "low", "low"]


@pytest.mark.parametrize("place", [*ContextLayer, *Semantic])
def test_a_place_is_read_back_from_its_name(place: ContextLayer | Semantic) -> None:
    assert parse_place(place.value) is place
