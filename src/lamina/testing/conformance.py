"""The conformance suite of the memory port: subclass it, say how to make a provider, run it."""

from lamina.memory.provider import MemoryProvider
from lamina.testing.changing import ChangingChecks
from lamina.testing.finding import FindingChecks
from lamina.testing.listing import ListingChecks
from lamina.testing.opening import OpeningChecks
from lamina.testing.sharing import SharingChecks
from lamina.testing.storing import StoringChecks


class MemoryProviderConformance(
    OpeningChecks, StoringChecks, ChangingChecks, ListingChecks, FindingChecks, SharingChecks
):
    """Every promise of `lamina.memory.provider`, each a test method.

    `make_provider` is called once for each of them and its provider is opened and shut down by the suite. Capabilities
    decide what is checked: a provider without bulk operations must do the same one by one, a provider without filters
    must refuse one rather than ignore it. Nothing needs an empty store.
    """

    async def make_provider(self) -> MemoryProvider:
        """A new provider, not yet initialized."""
        raise NotImplementedError("say in make_provider which provider is checked")
