"""Scripts that multiply themselves, and scripts that end every process."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from lamina.skill.invocation import Function, Invocation
from lamina.skill.program import operands
from lamina.skill.shell import text_of

_FOREVER = re.compile(
    r"^\s*(?:while\s+(?:true|:|\[\s*1\s*\]|\(\(\s*1\s*\)\)|\[\s*true\s*\])|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))"
)
_WAITING = re.compile(r"\b(?:sleep|wait|read|break|inotifywait|exit)\b")


def bombs(functions: dict[str, Function]) -> Iterator[str]:
    """Yield why functions grow without end: they reach themselves in a pipeline or in the background."""
    calls = {name: _calls(function.body, functions) for name, function in functions.items()}
    for name in functions:
        multiplied = any(many for _, many in calls[name])
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            for called, many in calls[waiting.pop()]:
                multiplied = multiplied or many
                if called not in reached:
                    reached.add(called)
                    waiting.append(called)
        if name in reached and (multiplied or sum(1 for called, _ in calls[name] if called == name) > 1):
            yield f"the function {name} starts itself again and again"


def _calls(node: Node, functions: dict[str, Function]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    if node.type == "command":
        name = node.child_by_field_name("name")
        word = text_of(name) if name is not None else ""
        if word in functions:
            found.append((word, _multiplied(node)))
    for child in node.named_children:
        found.extend(_calls(child, functions))
    return found


def _multiplied(node: Node | None) -> bool:
    while node is not None and node.type != "function_definition":
        later = node.next_sibling
        if node.type == "pipeline" or (later is not None and later.type == "&"):
            return True
        node = node.parent
    return False


def loops(root: Node) -> Iterator[str]:
    """Yield why a loop without end floods the machine: it starts work and never waits, or runs the script itself."""
    if root.type in ("while_statement", "c_style_for_statement"):
        text = text_of(root)
        if _FOREVER.match(text) and re.search(r"[^&>|]&(?![&>])", text) and not _WAITING.search(text):
            yield "a loop without end starts background processes"
    if root.type == "command":
        name = root.child_by_field_name("name")
        if name is not None and text_of(name).strip("\"'").removeprefix("./") in ("$0", "${0}") and _multiplied(root):
            yield "the script starts itself again in the background"
    for child in root.named_children:
        yield from loops(child)


def kills(command: Invocation) -> Iterator[str]:
    """Yield why `command` ends processes that are not the script's own."""
    words = list(command.words)
    if command.name == "killall5":
        yield "ends every process"
    elif command.name == "kill":
        targets = words[1:] if words and re.match(r"^-(?!-)", words[0]) else words
        targets = targets[1:] if words[:1] in (["-s"], ["-n"]) else targets
        if "-1" in targets or ("1" in targets and words[:1] not in (["-0"], ["-l"])):
            yield "ends every process"
        inner = [one for field in command.argv[1:] for i in field.inner for one in i.commands]
        if inner and inner[-1].name == "ps" and not {"-p", "-C", "--pid"} & set(inner[-1].words):
            yield "ends every process that ps lists"
    elif command.name in ("pkill", "killall"):
        given = operands(words, valued="ugtPsS")
        if any(re.fullmatch(r"[.*^$]+", word) for word in given) or (
            not given and re.search(r"-u\s*(?:root|0)", " ".join(words))
        ):
            yield "ends every process"
