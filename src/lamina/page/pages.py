"""The pages there are, in the order of the navigation. A new page is one line here; see `shell` for how it is made."""

from typing import Final

from lamina.page import (
    audit,
    graph,
    keys,
    knowledge,
    learnings,
    memories,
    overview,
    playground,
    quarantine,
    sessions,
    skills,
)
from lamina.page.shell import Page

PAGES: Final[tuple[Page, ...]] = (
    overview.PAGE,
    playground.PAGE,
    memories.PAGE,
    knowledge.PAGE,
    sessions.PAGE,
    learnings.PAGE,
    skills.PAGE,
    graph.PAGE,
    audit.PAGE,
    quarantine.PAGE,
    keys.PAGE,
)
