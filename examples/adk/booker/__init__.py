"""An agent that books rooms, remembers its users, and learns from its mistakes."""

from . import agent as agent
