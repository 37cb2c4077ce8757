"""What third parties need to prove their own parts, with pytest or unittest and no plugin.

from lamina.testing import MemoryProviderConformance

class TestMine(MemoryProviderConformance):
    async def make_provider(self):
        return MyProvider(...)
"""

from lamina.kernel.clock import ManualClock
from lamina.testing.conformance import MemoryProviderConformance

__all__ = ["ManualClock", "MemoryProviderConformance"]
