"""Go through a script the way a shell would, without running anything, and note every command it would start."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice, product

from tree_sitter import Node

from lamina.skill.effect import Files, Flow, apply_effects, executed_by
from lamina.skill.invocation import (
    UNKNOWN,
    Field,
    Function,
    Invocation,
    Redirect,
    Substitution,
    TooComplexError,
    Value,
    mark,
    plain,
)
from lamina.skill.output import output_of
from lamina.skill.program import program_name
from lamina.skill.shell import parse, text_of
from lamina.skill.unwrap import inside
from lamina.skill.words import HOME, Resolver, join

_CONDITIONAL = frozenset(
    {"if_statement", "elif_clause", "else_clause", "while_statement", "case_statement", "subshell"}
)
_ASSIGNING = frozenset({"variable_assignment", "variable_assignments", "declaration_command"})
_MOST_ARGUMENT_LISTS = 16
_MOST_VALUES = 8
_MOST_FIELDS = 10_000

_AMBIENT = {
    "HOME": HOME, "IFS": " \t\n", "SHELL": "/bin/bash",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TMPDIR": "/tmp", "USER": "user", "LOGNAME": "user", "BASH": "/bin/bash", "PWD": ".", "OSTYPE": "linux-gnu",
}  # fmt: skip


class Walker:
    """Follows one script. `invocations` are the commands found, `functions` the functions defined."""

    def __init__(self, *, max_depth: int, max_commands: int) -> None:
        self.invocations: list[Invocation] = []
        self.functions: dict[str, Function] = {}
        self.unparsable: list[str] = []
        self.flow = Flow()
        self.files = Files()
        self._variables: dict[str, tuple[Value, ...]] = {name: (Value(text=text),) for name, text in _AMBIENT.items()}
        self._called: set[str] = set()
        self._max_depth = max_depth
        self._max_commands = max_commands
        self._depth = 0
        self._conditional = 0
        self._line = 1
        self._redirects: tuple[Redirect, ...] = ()
        self._stdin: str | None = None
        self._upstream: tuple[Invocation, ...] = ()
        self._background = False

    def script(self, text: str) -> None:
        """Follow `text` from its first line; functions that nothing calls are followed too."""
        root = parse(text)
        if root is None:
            self.unparsable.append(text)
            return
        self._walk(root)
        for function in list(self.functions.values()):
            if function.name not in self._called:
                self._called.add(function.name)
                self._walk(function.body)

    def _walk(self, node: Node) -> None:
        kind = node.type
        if self._depth == 0:
            self._line = node.start_point[0] + 1
        if kind == "command":
            self._command(node)
        elif kind == "pipeline":
            self._pipeline([child for child in node.named_children if child.type != "comment"])
        elif kind == "redirected_statement":
            self._redirected(node)
        elif kind in _ASSIGNING:
            self._assignments(node)
        elif kind == "unset_command":
            self._emit(tuple(Field(text=word) for word in text_of(node).split()), {})
        elif kind == "function_definition":
            self._define(node)
        elif kind == "for_statement":
            self._loop(node)
        elif kind in ("command_substitution", "process_substitution"):
            self._substitute(node)
        else:
            self._children(node, conditional=kind in _CONDITIONAL)

    def _children(self, node: Node, *, conditional: bool) -> None:
        children = node.children
        for at, child in enumerate(children):
            if not child.is_named or child.type == "comment":
                continue
            later = child.next_sibling
            background = later is not None and later.type == "&"
            # What stands behind && or || may or may not run.
            maybe = conditional or (node.type == "list" and at > 0)
            before, self._background = self._background, background or self._background
            self._conditional += maybe
            self._walk(child)
            self._conditional -= maybe
            self._background = before

    def _pipeline(self, stages: list[Node]) -> None:
        upstream = self._upstream
        flat: list[Node] = []
        for stage in stages:
            flat.extend(_stages(stage))
        for stage in flat:
            start = len(self.invocations)
            self._walk(stage)
            self._upstream = (*self._upstream, *self.invocations[start:])
            self._stdin = None
        self._upstream = upstream

    def _redirected(self, node: Node) -> None:
        before = (self._redirects, self._stdin)
        behind: list[tuple[str, Node]] = []
        redirects: list[Redirect] = []
        body = node.child_by_field_name("body")
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                behind.extend(self._heredoc(child, redirects))
            elif child.type == "herestring_redirect":
                self._herestring(child)
            elif child.type == "file_redirect":
                redirects.extend(self._redirect(child))
        self._redirects = (*self._redirects, *redirects)
        start = len(self.invocations)
        if body is not None:
            self._walk(body)
        elif redirects:
            self._emit((), {})
        found = self.invocations[start:]
        self._redirects, self._stdin = before
        for operator, other in behind:
            if operator == "|":
                upstream, self._upstream = self._upstream, (*self._upstream, *found)
                self._walk(other)
                self._upstream = upstream
            else:
                self._walk(other)

    def _heredoc(self, node: Node, redirects: list[Redirect]) -> list[tuple[str, Node]]:
        behind: list[tuple[str, Node]] = []
        quoted = False
        for child in node.named_children:
            if child.type == "heredoc_start":
                quoted = any(sign in text_of(child) for sign in "'\"\\")
            elif child.type == "heredoc_body":
                self._stdin = text_of(child) if quoted else plain(self._resolver().heredoc(child)[-1].text)
            elif child.type == "file_redirect":
                redirects.extend(self._redirect(child))
            elif child.type == "pipeline":
                behind.append(("|", child))
            elif child.type != "heredoc_end":
                operator = child.prev_sibling
                behind.append((operator.type if operator is not None else "", child))
        return behind

    def _herestring(self, node: Node) -> None:
        for child in node.named_children:
            value = self._resolver().values(child)[-1]
            self._stdin = plain(value.text)
            # The commands behind a here-string feed it like a pipe does.
            self._upstream = (*self._upstream, *(c for one in value.inner for c in one.commands))

    def _redirect(self, node: Node) -> Iterator[Redirect]:
        descriptor = node.child_by_field_name("descriptor")
        operator = next((child.type for child in node.children if not child.is_named), ">")
        for child in node.named_children:
            if child.type != "file_descriptor":
                for field in self._resolver().fields(child)[-1]:
                    yield Redirect(
                        operator=operator, descriptor=text_of(descriptor) if descriptor else "", target=field
                    )

    def _assignments(self, node: Node) -> None:
        names: dict[str, str] = {}
        found = [node] if node.type == "variable_assignment" else node.named_children
        for child in found:
            if child.type == "variable_assignment":
                name, values = self._assignment(child)
                self._set(name, values)
                names[name] = plain(values[-1].text)
        if names:
            self._emit((), names)

    def _assignment(self, node: Node) -> tuple[str, tuple[Value, ...]]:
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = text_of(name_node) if name_node is not None else ""
        values = self._resolver().values(value_node) if value_node is not None else (Value(text=""),)
        if "+=" in text_of(node)[: len(name) + 2]:
            old = self._variables.get(name, (Value(text=""),))
            values = tuple(map(join, islice(product(old, values), _MOST_VALUES)))
        is_array = value_node is not None and value_node.type == "array"
        # The value of a variable splits into fields again when it is used without quotes.
        return name.partition("[")[0], values if is_array else tuple(replace(v, text=plain(v.text)) for v in values)

    def _set(self, name: str, values: tuple[Value, ...]) -> None:
        old = self._variables.get(name, ()) if self._conditional or self._depth else ()
        self._variables[name] = tuple(dict.fromkeys((*old, *values)))[-_MOST_VALUES:]

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[text_of(name)] = Function(name=text_of(name), body=body)

    def _loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        values: list[Value] = []
        for child in node.children_by_field_name("value"):
            for alternative in self._resolver().fields(child):
                values.extend(Value(text=field.text, inner=field.inner) for field in alternative)
        if variable is not None:
            self._variables[text_of(variable)] = tuple(dict.fromkeys(values))[:_MOST_VALUES] or (Value(text=UNKNOWN),)
        body = node.child_by_field_name("body")
        if body is not None:
            self._children(body, conditional=True)

    def _resolver(self) -> Resolver:
        return Resolver(self._variables, self._substitute)

    def _substitute(self, node: Node) -> Value:
        source = text_of(node)
        writes = source.startswith(">(")
        start = len(self.invocations)
        kept = (self._upstream, self._redirects, self._stdin)
        self._redirects, self._stdin = (), None
        if writes:
            self._upstream = (*self._upstream, *_parent(node, self._line))
        else:
            self._upstream = ()
        with self._deeper():
            self._children(node, conditional=True)
        self._upstream, self._redirects, self._stdin = kept
        commands = tuple(self.invocations[start:])
        kind = "value" if node.type == "command_substitution" else "write" if writes else "read"
        inner = (
            Substitution(kind="write" if kind == "write" else "read" if kind == "read" else "value", commands=commands),
        )
        if kind != "value":
            return Value(text=mark("/dev/fd/63"), inner=inner)
        files = [r.target.text for c in commands for r in c.redirects if r.operator == "<" and not c.argv]
        known = self.files.text(files[0]) if files else output_of(commands)
        return Value(text=UNKNOWN if known is None else known.rstrip("\n"), inner=inner)

    def _command(self, node: Node) -> None:
        assigned: dict[str, str] = {}
        words: list[tuple[tuple[Field, ...], ...]] = []
        room = _MOST_FIELDS
        redirects: list[Redirect] = []
        kept = (self._redirects, self._stdin, self._upstream)
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, values = self._assignment(child)
                assigned[name] = plain(values[-1].text)
            elif child.type == "file_redirect":
                redirects.extend(self._redirect(child))
            elif child.type == "herestring_redirect":
                self._herestring(child)
            elif child.type == "heredoc_redirect":
                self._heredoc(child, redirects)
            elif child.type != "comment":
                # Only the children of a command name hold the word.
                target = child.named_children[0] if child.type == "command_name" and child.named_children else child
                words.append(self._resolver().fields(target))
                if (room := room - max(map(len, words[-1]))) < 0:
                    raise TooComplexError
        self._redirects = (*self._redirects, *redirects)
        for choice in islice(product(*words), _MOST_ARGUMENT_LISTS):
            self._emit(tuple(field for fields in choice for field in fields), assigned)
        self._redirects, self._stdin, self._upstream = kept

    def _emit(self, argv: tuple[Field, ...], assigned: Mapping[str, str], via: tuple[str, ...] = ()) -> None:
        if len(self.invocations) >= self._max_commands:
            raise TooComplexError
        alias = self.flow.aliases.get(argv[0].text) if argv else None
        if alias is not None and argv[0].text not in via:
            text = " ".join([alias, *(_quoted(one.text) for one in argv[1:])])
            self._run(text, via=(*via, argv[0].text))
            return
        name = program_name(argv[0].text) if argv else ""
        stdin = self._stdin if self._stdin is not None else output_of(self._upstream) if self._upstream else None
        invocation = Invocation(
            argv=argv, name=name, line=self._line, via=via, assigned=assigned, redirects=self._redirects,
            upstream=self._upstream, stdin=stdin, folder=self.flow.folder, background=self._background,
        )  # fmt: skip
        given = (self.files.text(word) for word in (*invocation.words, *([argv[0].text] if argv else [])))
        executes = executed_by(invocation, self.files)
        self.invocations.append(replace(invocation, executes=executes, given=tuple(t for t in given if t)))
        for variable in apply_effects(invocation, self.flow, self.files):
            self._set(variable, (Value(text=UNKNOWN),))
        if name == "set" and "--" in invocation.words:
            self._arguments(argv[invocation.words.index("--") + 2 :])
        if name in self.functions and not via:
            self._call(self.functions[name], argv)
        elif argv:
            self._unwrap(invocation)

    def _unwrap(self, invocation: Invocation) -> None:
        via = (*invocation.via, invocation.name)
        if len(via) > self._max_depth:
            raise TooComplexError
        for one in inside(invocation.name, invocation.argv):
            if one.script is not None:
                self._run(one.script.text, via=via, arguments=one.arguments)
            elif invocation.name == "xargs" and invocation.stdin is not None:
                given = tuple(Field(text=word) for word in invocation.stdin.split())
                self._emit((*one.argv, *given), {}, via)
            else:
                self._emit(one.argv, {}, via)
        for text in self.files.scripts_run_by(invocation):
            self._run(text, via=via)

    def _run(self, text: str, *, via: tuple[str, ...], arguments: tuple[Field, ...] = ()) -> None:
        """Follow `text` as the script of a shell that was started through `via`."""
        root = parse(text)
        if root is None:
            if UNKNOWN not in text:
                self.unparsable.append(text)
            return
        kept = self._variables
        self._variables = dict(kept)
        for at, argument in enumerate(arguments):
            self._variables[str(at)] = (Value(text=argument.text, inner=argument.inner),)
        redirects, self._redirects = self._redirects, ()
        stdin, self._stdin = self._stdin, None
        start = len(self.invocations)
        with self._deeper():
            self._walk(root)
        for at in range(start, len(self.invocations)):
            found = self.invocations[at]
            self.invocations[at] = replace(found, via=(*via, *found.via))
        self._variables, self._redirects, self._stdin = kept, redirects, stdin

    def _call(self, function: Function, argv: tuple[Field, ...]) -> None:
        if function.name in self._called and self._depth:
            return
        self._called.add(function.name)
        kept = self._variables
        self._variables = dict(kept)
        self._arguments(argv[1:])
        with self._deeper():
            self._walk(function.body)
        self._variables = kept

    def _arguments(self, given: tuple[Field, ...]) -> None:
        """Let `$1`, `$2`, ... and `$@` be these."""
        for at, argument in enumerate(given, start=1):
            self._variables[str(at)] = (Value(text=argument.text, inner=argument.inner),)
        everything = " ".join(argument.text for argument in given)
        self._variables["@"] = self._variables["*"] = (Value(text=everything),)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        if self._depth >= self._max_depth:
            raise TooComplexError
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


def _stages(node: Node) -> list[Node]:
    """Return the stages of a pipeline that the grammar may have nested."""
    if node.type != "pipeline":
        return [node]
    return [stage for child in node.named_children if child.type != "comment" for stage in _stages(child)]


def _parent(node: Node, line: int) -> tuple[Invocation, ...]:
    """Return a stand-in for the command whose output the process substitution `node` reads."""
    parent = node.parent
    while parent is not None and parent.type not in ("command", "redirected_statement"):
        parent = parent.parent
    words = text_of(parent).split() if parent is not None else []
    return (
        (Invocation(argv=tuple(Field(text=w) for w in words), name=program_name(words[0]), line=line),) if words else ()
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
