"""One request to an endpoint that speaks OpenAI's protocol, through the openai package.

Not for retrying: a failure is translated and raised at once, and the caller decides whether to try again.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from lamina.endpoint.address import host_of
from lamina.endpoint.refusal import Endpoint, Refusal, Service, refusal_error
from lamina.errors import ConfigurationError, ContentTooLongError, LaminaError, OperationTimeoutError
from lamina.kernel.clock import Clock, SystemClock

try:
    import openai as openai  # the one guarded import; adapters take it from here
except ImportError as missing:
    raise ConfigurationError("Asking an endpoint needs the openai package: pip install 'lamina[openai]'") from missing


class RawAnswer(Protocol):
    """An answer that was received whole and not yet read."""

    @property
    def content(self) -> bytes:
        """Its body."""
        ...


Send = Callable[[openai.AsyncOpenAI], Awaitable[RawAnswer]]
"""Sends one request with the SDK's client."""


class EndpointClient:
    """Asks one model at one endpoint; neither its errors nor its representation show the key or what was sent."""

    def __init__(
        self,
        service: Service,
        *,
        model: str,
        api_key: str,
        base_url: str,
        timeout_s: float,
        clock: Clock | None = None,
    ) -> None:
        """Raises ConfigurationError when `base_url` is no address."""
        self.endpoint = Endpoint(service=service, host=host_of(base_url), model=model)
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._sdk = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, timeout=timeout_s)

    def __repr__(self) -> str:
        return f"EndpointClient(model={self.endpoint.model!r}, host={self.endpoint.host!r})"

    async def ask(self, send: Send, *, too_long: type[LaminaError] = ContentTooLongError) -> bytes:
        """The body of the answer to one request.

        Raises RateLimitedError, UnauthorizedError, OperationTimeoutError, ConfigurationError, `too_long`, or the
        service's own failure.
        """
        try:
            # The SDK's timeout starts again with every piece of an answer; this one covers the whole.
            with anyio.fail_after(self._timeout_s):
                answer = await send(self._sdk)
            return answer.content
        # No `from`: the SDK's exception can hold the text that was sent, or a key the endpoint repeated.
        except (TimeoutError, openai.OpenAIError) as error:
            raise self._translated(error, too_long) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    def _translated(self, error: TimeoutError | openai.OpenAIError, too_long: type[LaminaError]) -> LaminaError:
        endpoint = self.endpoint
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            message = f"{endpoint.where} did not answer within {self._timeout_s:g} s."
            return OperationTimeoutError(message, details=endpoint.details)
        if isinstance(error, openai.APIStatusError):
            refusal = Refusal(
                status=error.status_code,
                headers={key.lower(): value for key, value in error.response.headers.items()},
                body=error.body,
            )
            return refusal_error(
                refusal, endpoint=endpoint, secret=self._sdk.api_key, now=self._clock.now(), too_long=too_long
            )
        cause = type(error.__cause__ or error).__name__
        return endpoint.service.failed(f"{endpoint.where} could not be asked ({cause}).", details=endpoint.details)
