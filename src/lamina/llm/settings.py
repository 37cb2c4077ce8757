"""The knobs of the chat model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """The primary agent's model: what observational memory and the graph use where nothing else is configured."""

    provider: str = "openai"
    """Who runs the model: `openai` is OpenAI and every endpoint that speaks its protocol."""
    model: str | None = None
    """The model's name; unset means that there is none, and what needs one does without."""
    base_url: str | None = None
    """The address of an OpenAI-compatible endpoint; unset means OpenAI's own."""
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; the key itself never stands in a configuration."""
    timeout_s: float = 60.0
    """Seconds one request may take, from the first byte sent to the last byte of the answer."""
    max_output_tokens: int | None = None
    """Tokens of an answer at most, where the caller does not say; unset leaves it to the endpoint."""
    temperature: float | None = None
    """How freely the model chooses its words, where the caller does not say; unset leaves it to the endpoint."""

    def __post_init__(self) -> None:
        if not self.provider.strip():
            raise ValueError("provider must not be empty")
        if self.model is not None and not self.model.strip():
            raise ValueError("model must not be empty; leave it unset to have none")
        if self.timeout_s <= 0:
            raise ValueError("timeout_s must be above 0")
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ValueError("max_output_tokens must be at least 1")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise ValueError("temperature must be from 0 to 2")
