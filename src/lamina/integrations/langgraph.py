"""Lamina for LangGraph: the extra `langgraph`.

from lamina.integrations.langgraph import LaminaStore, prompt_node

builder.add_node("prompt", prompt_node(app, "You are kind."))
graph = builder.compile(store=LaminaStore(app))
"""

from lamina.errors import ConfigurationError

try:
    import langgraph.store.base  # noqa: F401 -- only looked for: the files beside this one import it
except ImportError as missing:
    raise ConfigurationError("Graphs of LangGraph need its package: pip install 'lamina[langgraph]'") from missing

from lamina.integrations.langgraph_namespaces import LAYOUTS
from lamina.integrations.langgraph_nodes import prompt_node, record_node
from lamina.integrations.langgraph_store import LaminaStore

__all__ = ["LAYOUTS", "LaminaStore", "prompt_node", "record_node"]
