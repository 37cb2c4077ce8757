"""The knobs of observational memory, with the specification's names and defaults."""

from dataclasses import dataclass

_DEFAULT_REFLECTIONS = 5
_DEFAULT_OBSERVATIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationSettings:
    """When conversations are noted and condensed, by whom, and how much of the notes a prompt carries.

    Unset and zero differ: unset is the default, 0 is unlimited.
    """

    enabled: bool = False
    """Whether conversations are observed at all."""
    provider: str | None = None
    """Who runs the model that writes notes, such as `openai` for any compatible endpoint; unset: that of `llm`."""
    model: str | None = None
    """The model that writes notes; unset: that of `llm`, and without one notes are extracted without a model."""
    message_token_threshold: int = 1000
    """Unobserved tokens above which a note is written."""
    observation_token_threshold: int = 2000
    """Tokens of observations above which they are condensed into a reflection."""
    max_message_token_budget: int = 8000
    """Tokens of recent raw messages that a conversation shows a model; 0 is unlimited."""
    max_reflections_in_context: int | None = None
    """Reflections in a prompt, the newest; unset: 5, 0: all."""
    max_observations_in_context: int | None = None
    """Observations in a prompt, the newest; unset: 20, 0: all."""
    memory_token_budget: int = 4000
    """Tokens of the Conversation Memory section; 0 is unlimited."""
    consolidation_threshold: int = 5
    """Reflections of one session at which they are condensed into one of the next generation."""
    retained_tail_tokens: int = 300
    """Tokens of the newest messages that stay raw and unobserved, beside the user's latest message."""
    compact: bool = True
    """Whether observed messages move to the archive; off, they stay in the conversation."""
    max_batch_tokens: int = 6000
    """Tokens of messages that one note is written on, at most; a longer stretch becomes several notes."""
    concurrency: int = 4
    """Sessions that are observed at the same time in one process."""
    queue_capacity: int = 1024
    """Sessions that wait to be observed; a trigger beyond it is dropped, counted and found again later."""
    lease_s: float = 120.0
    """Seconds after which another process may take over a session whose observer went silent."""
    sweep_interval_s: float = 60.0
    """Seconds between searches for sessions whose observation is due and was missed; 0 searches at start only."""
    stop_deadline_s: float = 10.0
    """Seconds that a running observation is given at shutdown."""
    fallback_after_failures: int = 3
    """Failed attempts of the model after which a stretch is noted without it, provisionally; 0 waits for ever."""
    recalled_messages: int = 3
    """Archived messages that fit the query and enter the prompt beside the notes; 0 is none."""

    def __post_init__(self) -> None:
        for name in ("message_token_threshold", "observation_token_threshold", "max_batch_tokens", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.queue_capacity < 1 or self.consolidation_threshold < 2:
            raise ValueError("queue_capacity must be at least 1 and consolidation_threshold at least 2")
        for name in (
            "max_message_token_budget",
            "memory_token_budget",
            "retained_tail_tokens",
            "sweep_interval_s",
            "stop_deadline_s",
            "fallback_after_failures",
            "recalled_messages",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        for name in ("max_reflections_in_context", "max_observations_in_context"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must not be negative")
        if self.lease_s <= 0:
            raise ValueError("lease_s must be above 0")

    @property
    def reflections_shown(self) -> int:
        """Reflections in a prompt at most; 0 is unlimited."""
        given = self.max_reflections_in_context
        return _DEFAULT_REFLECTIONS if given is None else given

    @property
    def observations_shown(self) -> int:
        """Observations in a prompt at most; 0 is unlimited."""
        given = self.max_observations_in_context
        return _DEFAULT_OBSERVATIONS if given is None else given
