"""Lamina for Google's Agent Development Kit: the extra `adk`.

from lamina.integrations.adk import ContextAwareModel, LaminaPlugin

agent = LlmAgent(name="helper", model=ContextAwareModel("gemini-flash-latest", app))
runner = Runner(app=App(name="house", root_agent=agent, plugins=[LaminaPlugin(app)]), session_service=...)
"""

from lamina.errors import ConfigurationError

try:
    import google.adk.models.base_llm  # noqa: F401 -- only looked for: the files beside this one import it
except ImportError as missing:
    raise ConfigurationError("Agents of ADK need the google-adk package: pip install 'lamina[adk]'") from missing

from lamina.integrations.adk_chat import AdkChatModel
from lamina.integrations.adk_memory import LaminaMemoryService, register_memory_service
from lamina.integrations.adk_model import ERROR_KEY, RECEIPT_KEY, ContextAwareModel
from lamina.integrations.adk_plugin import LaminaPlugin
from lamina.integrations.adk_summarizer import LaminaSummarizer
from lamina.integrations.adk_turn import session_key_of

__all__ = [
    "ERROR_KEY",
    "RECEIPT_KEY",
    "AdkChatModel",
    "ContextAwareModel",
    "LaminaMemoryService",
    "LaminaPlugin",
    "LaminaSummarizer",
    "register_memory_service",
    "session_key_of",
]
