"""How small condensed notes should become: as large as the memory section has room for, and no larger. Pure.

Everything that is condensed loses detail, so notes are condensed late and by little: observations give up a part when
they become a reflection, and reflections shrink only as far as the observations that came since need the room. With
a budget the section is always almost full, whatever the length of the conversation.
"""

from lamina.observation.settings import ObservationSettings

_FRAME = 120  # tokens of the words, headings and fences around the notes
_KEPT_BY_MODEL = 0.75
_KEPT_OF_OBSERVATIONS, _KEPT_OF_REFLECTIONS = 0.9, 0.98


def observations_target(
    condensed_tokens: int, *, reflection_tokens: int, settings: ObservationSettings, model: bool
) -> int:
    """Tokens that a reflection on these observations may have, beside reflections of so many tokens."""
    most = int(condensed_tokens * (_KEPT_BY_MODEL if model else _KEPT_OF_OBSERVATIONS))
    if not settings.memory_token_budget:
        return max(1, most)
    room = settings.memory_token_budget - _FRAME - spare_tokens(settings, model=model) - reflection_tokens
    return max(1, min(most, max(room, condensed_tokens // 2)))


def reflections_due(
    *, reflections: int, reflection_tokens: int, observation_tokens: int, settings: ObservationSettings
) -> bool:
    """Whether there are too many reflections, or they and the observations no longer fit the memory section."""
    if reflections >= settings.consolidation_threshold:
        return True
    budget = settings.memory_token_budget
    return bool(budget and reflections) and reflection_tokens + observation_tokens > budget - _FRAME


def reflections_target(
    condensed_tokens: int, *, observation_tokens: int, settings: ObservationSettings, model: bool
) -> int:
    """Tokens that one reflection on these reflections may have, beside observations of so many tokens."""
    most = int(condensed_tokens * (_KEPT_BY_MODEL if model else _KEPT_OF_REFLECTIONS))
    if not settings.memory_token_budget:
        return max(1, most)
    room = settings.memory_token_budget - _FRAME - spare_tokens(settings, model=model) - observation_tokens
    return max(1, min(most, max(room, settings.memory_token_budget // 4)))


def spare_tokens(settings: ObservationSettings, *, model: bool) -> int:
    """Room that is left for the observations to come, so that not every one of them makes reflections shrink.

    Condensing again costs a model much and loses a little each time. Without a model it costs next to nothing and
    always keeps what is worth most, so no room is left.
    """
    return min(settings.observation_token_threshold // 2, settings.memory_token_budget // 4) if model else 0
