"""Parse shell text into a syntax tree; nothing here judges what the text does."""

import re
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

# The grammar has gaps that ordinary scripts step into. Each repair keeps the meaning of the text and is used only when
# the text as written does not parse and the repaired text does: `3<>file` opens a file, `{a,b}` may stand in command
# position, `!(a)` is an extended glob, `for i do` goes over the arguments, a backslash at the very end is nothing.
_REPAIRS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<>"), "< "),
    (re.compile(r"(?<![\w$}\"'])\{(?=[^\s{}]*,[^\s{}]*\})"), '""{'),
    (re.compile(r"[!@?*+]\([^()\s$`<>]*\)"), "*"),
    (re.compile(r"\bfor(\s+)(\w+)\s*;?\s*\n?do\b"), r'for\1\2 in "$@"; do'),
    (re.compile(r"\\\s*\Z"), ""),
)
# The grammar loses the end of a word in which one of these stands without braces.
_BARE = re.compile(r"\$(IFS\b|[@*])")


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def _parse(text: str) -> Node:
    return Parser(_language()).parse(text.encode("utf-8", "replace")).root_node


def parse(text: str) -> Node | None:
    """Return the root of the syntax tree of `text`, or None when it is not a shell script that can be understood."""
    text = _BARE.sub(r"${\1}", text)
    root = _parse(text)
    if not root.has_error:
        return root
    repaired = text
    for pattern, replacement in _REPAIRS:
        repaired = pattern.sub(replacement, repaired)
        if repaired != text:
            root = _parse(repaired)
            if not root.has_error:
                return root
    return None


def text_of(node: Node) -> str:
    """Return the source text of `node`."""
    return (node.text or b"").decode("utf-8", "replace")


def gaps_and_children(node: Node) -> list[str | Node]:
    """Return the children of `node` in order, with the literal text between them as strings."""
    source = node.text or b""
    parts: list[str | Node] = []
    at = node.start_byte
    for child in node.children:
        if child.start_byte > at:
            parts.append(source[at - node.start_byte : child.start_byte - node.start_byte].decode("utf-8", "replace"))
        parts.append(child if child.is_named else text_of(child))
        at = max(at, child.end_byte)
    if node.end_byte > at:
        parts.append(source[at - node.start_byte :].decode("utf-8", "replace"))
    return parts
