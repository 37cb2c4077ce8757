"""What a page says whose room is switched off."""

from lamina.page.pieces import card, nothing


def is_on(enabled: bool, room: str, variable: str) -> bool:
    """Whether a room is on; where it is not, the page says so and how to switch it on."""
    if not enabled:
        with card():
            nothing(
                f"{room} is switched off.",
                "Switch it on in lamina.toml or in the environment, and start the service again.",
                command=f"{variable}=true lamina serve",
            )
    return enabled
