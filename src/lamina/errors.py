"""What can go wrong, in one tree.

    LaminaError                     code, message, operation, retryable, details
    ├── InvalidInputError           INVALID_INPUT         a value no verb accepts: empty content, NUL
    │   ├── InvalidLayerError       INVALID_LAYER         no such memory layer
    │   ├── MissingIdentifierError  MISSING_IDENTIFIER    the layer needs an identifier that was not given
    │   ├── ContentTooLongError     CONTENT_TOO_LONG      details: max_length, length
    │   ├── QueryTooLongError       QUERY_TOO_LONG        details: max_length, length
    │   ├── RequestTooLargeError    REQUEST_TOO_LARGE     more bytes at once than the service takes
    │   ├── InvalidFilterError      INVALID_FILTER        unknown operator, malformed path or value
    │   ├── InvalidCursorError      INVALID_CURSOR        not a cursor of this listing
    │   └── ScriptRefusedError      SCRIPT_REFUSED        the check of a skill's script; details: reasons
    ├── MemoryNotFoundError         MEMORY_NOT_FOUND      nothing to update within the caller's reach
    ├── KnowledgeNotFoundError      KNOWLEDGE_NOT_FOUND   no knowledge under this key
    ├── ReferenceNotFoundError      REFERENCE_NOT_FOUND   no external reference of this name
    ├── LearningNotFoundError       LEARNING_NOT_FOUND    no learning has this id
    ├── SessionNotFoundError        SESSION_NOT_FOUND     no conversation under this key
    ├── ReceiptNotFoundError        RECEIPT_NOT_FOUND     no stored receipt has this id
    ├── QuarantineNotFoundError     QUARANTINE_NOT_FOUND  no such case, or it was purged
    ├── SkillNotFoundError          SKILL_NOT_FOUND       no skill of this name
    ├── SkillNotActiveError         SKILL_NOT_ACTIVE      it waits for approval, or was rejected
    ├── SkillFailedError            SKILL_FAILED          it ran and failed; details say where, and what was done
    ├── KeyNotFoundError            KEY_NOT_FOUND         no key of this tenant has this id
    ├── UnauthorizedError           UNAUTHORIZED          no key, or one that is not good; a provider refused ours
    ├── ForbiddenError              FORBIDDEN             the key is good, but not for this
    ├── ConflictError               CONFLICT              something else was done, or is being done, under this name
    ├── ConfigurationError          CONFIGURATION_ERROR   the message says what to change, or which command to run
    ├── ProviderError               PROVIDER_ERROR        retryable: the store failed (locked, full, gone)
    │   └── ModelFailedError        MODEL_FAILED          retryable: the chat model failed or answered nonsense
    ├── RateLimitedError            RATE_LIMITED          retryable: retry_after in seconds when the provider said so
    ├── EmbeddingFailedError        EMBEDDING_FAILED      retryable: the embedder failed or answered nonsense
    └── OperationTimeoutError       TIMEOUT               retryable: a deadline passed

Vendors' exceptions are translated where they are called, so nothing else escapes a public verb. An error never
carries content of memories or credentials in its details.
"""

from collections.abc import Mapping
from typing import ClassVar


class LaminaError(Exception):
    """An operation failed."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str | None = None,
        *,
        operation: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.operation = operation
        self.details: dict[str, object] = dict(details or {})
        super().__init__(self.message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.operation, self.details))

    def to_dict(self) -> dict[str, object]:
        """The error object every door shows: code, message, operation, retryable, details."""
        return {
            "code": self.code,
            "message": self.message,
            "operation": self.operation,
            "retryable": self.retryable,
            "details": self.details,
        }


def _rebuild(kind: type[LaminaError], message: str, operation: str | None, details: dict[str, object]) -> LaminaError:
    return kind(message, operation=operation, details=details)


class InvalidInputError(LaminaError):
    """The input is not valid."""

    code = "INVALID_INPUT"


class InvalidLayerError(InvalidInputError):
    """There is no such memory layer."""

    code = "INVALID_LAYER"


class MissingIdentifierError(InvalidInputError):
    """An identifier the layer needs was not given."""

    code = "MISSING_IDENTIFIER"


class ContentTooLongError(InvalidInputError):
    """The content is longer than the provider stores."""

    code = "CONTENT_TOO_LONG"


class QueryTooLongError(InvalidInputError):
    """The query is longer than a search accepts."""

    code = "QUERY_TOO_LONG"


class RequestTooLargeError(InvalidInputError):
    """The request is larger than the service takes."""

    code = "REQUEST_TOO_LARGE"


class InvalidFilterError(InvalidInputError):
    """The filter is malformed."""

    code = "INVALID_FILTER"


class InvalidCursorError(InvalidInputError):
    """The cursor does not belong to this listing; start again without one."""

    code = "INVALID_CURSOR"


class ScriptRefusedError(InvalidInputError):
    """The script does something that no skill may do."""

    code = "SCRIPT_REFUSED"


class MemoryNotFoundError(LaminaError):
    """There is no memory with this id within the caller's reach."""

    code = "MEMORY_NOT_FOUND"


class KnowledgeNotFoundError(LaminaError):
    """There is no knowledge under this key."""

    code = "KNOWLEDGE_NOT_FOUND"


class ReferenceNotFoundError(LaminaError):
    """There is no external reference of this name."""

    code = "REFERENCE_NOT_FOUND"


class LearningNotFoundError(LaminaError):
    """There is no learning with this id."""

    code = "LEARNING_NOT_FOUND"


class SessionNotFoundError(LaminaError):
    """There is no session under this key."""

    code = "SESSION_NOT_FOUND"


class ReceiptNotFoundError(LaminaError):
    """There is no stored receipt with this id."""

    code = "RECEIPT_NOT_FOUND"


class QuarantineNotFoundError(LaminaError):
    """There is no held text with this id."""

    code = "QUARANTINE_NOT_FOUND"


class SkillNotFoundError(LaminaError):
    """There is no skill of this name."""

    code = "SKILL_NOT_FOUND"


class SkillNotActiveError(LaminaError):
    """The skill is not active; somebody has to approve it first."""

    code = "SKILL_NOT_ACTIVE"


class SkillFailedError(LaminaError):
    """The skill ran and failed."""

    code = "SKILL_FAILED"


class UnauthorizedError(LaminaError):
    """The provider refused the credentials."""

    code = "UNAUTHORIZED"


class KeyNotFoundError(LaminaError):
    """No key of this tenant has this id."""

    code = "KEY_NOT_FOUND"


class ForbiddenError(LaminaError):
    """The key is good, but not for this."""

    code = "FORBIDDEN"


class ConflictError(LaminaError):
    """Something else was done, or is being done, under this name."""

    code = "CONFLICT"


class ConfigurationError(LaminaError):
    """The configuration cannot work as it is."""

    code = "CONFIGURATION_ERROR"


class ProviderError(LaminaError):
    """The store failed."""

    code = "PROVIDER_ERROR"
    retryable = True


class ModelFailedError(ProviderError):
    """The chat model failed."""

    code = "MODEL_FAILED"


class RateLimitedError(LaminaError):
    """The provider asks for fewer requests."""

    code = "RATE_LIMITED"
    retryable = True

    @property
    def retry_after(self) -> float | None:
        """Seconds the provider asked to wait, where it said so."""
        value = self.details.get("retry_after")
        return float(value) if isinstance(value, int | float) else None


class EmbeddingFailedError(LaminaError):
    """The embedder failed."""

    code = "EMBEDDING_FAILED"
    retryable = True


class OperationTimeoutError(LaminaError):
    """A deadline passed before the operation finished."""

    code = "TIMEOUT"
    retryable = True
