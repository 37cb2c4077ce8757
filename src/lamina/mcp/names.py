"""What identifiers are called where a connection gives them."""

from collections.abc import Mapping
from typing import Final

from lamina.memory.types import IDENTIFIER_NAMES

HEADERS: Final[Mapping[str, str]] = {name: f"X-Lamina-{name.removesuffix('_id').title()}" for name in IDENTIFIER_NAMES}
"""The header of a request, by identifier: `X-Lamina-User`."""
VARIABLES: Final[Mapping[str, str]] = {name: header.upper().replace("-", "_") for name, header in HEADERS.items()}
"""The variable in the environment of a process: `X_LAMINA_USER`."""
