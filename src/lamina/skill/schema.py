"""The parameters of a skill: a JSON schema, of which exactly the part below is understood, and values checked by it.

A keyword that is not understood is refused when a skill is created, so that no rule is written down and then ignored.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Never

from lamina.errors import InvalidInputError
from lamina.kernel.checks import check_json

MOST_PARAMETERS = 50
LARGEST_SCHEMA = 65_536
LARGEST_ARGUMENTS = 65_536

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_ANY = {"type", "description", "title", "default", "enum", "examples"}
_TOP = {"type", "properties", "required", "additionalProperties", "title", "description"}
_BY_TYPE = {
    "string": {"minLength", "maxLength"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set[str](),
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}


def check_schema(schema: Mapping[str, object] | None) -> dict[str, object]:
    """The schema as it is stored; without one, an object without parameters. Raises InvalidInputError."""
    plain: dict[str, object] = {**check_json("parameters", schema, max_size=LARGEST_SCHEMA)}
    plain.setdefault("type", "object")
    plain.setdefault("properties", {})
    if plain["type"] != "object" or set(plain) - _TOP:
        _refuse(f"parameters must be a JSON schema of type object with {', '.join(sorted(_TOP - {'type'}))}.")
    if plain.get("additionalProperties", False) is not False:
        _refuse("A skill takes the parameters it declares and no others: additionalProperties must be false.")
    _check(plain, "parameters")
    names: Mapping[str, object] = plain["properties"]  # type: ignore[assignment]
    if len(names) > MOST_PARAMETERS:
        _refuse(f"A skill takes at most {MOST_PARAMETERS} parameters.")
    for name in names:
        if not _NAME.fullmatch(name):
            _refuse(f"The parameter {name[:80]!a} needs a name of letters, digits and underscores, no digit first.")
    plain["additionalProperties"] = False
    return plain


def text_schema(names: Mapping[str, None] | list[str]) -> dict[str, object]:
    """A schema of required texts."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def parameter_names(schema: Mapping[str, object]) -> set[str]:
    """The parameters a checked schema declares."""
    properties = schema.get("properties")
    return set(properties) if isinstance(properties, Mapping) else set()


def check_arguments(schema: Mapping[str, object], arguments: Mapping[str, object] | None) -> dict[str, object]:
    """The arguments with defaults filled in. Raises InvalidInputError for a missing, extra or unfitting one."""
    given: dict[str, object] = {**check_json("arguments", arguments, max_size=LARGEST_ARGUMENTS)}
    properties: dict[str, dict[str, Any]] = schema["properties"]  # type: ignore[assignment]
    if extra := sorted(set(given) - set(properties)):
        _refuse(f"There is no parameter {', '.join(extra)[:200]}.", extra=extra, known=sorted(properties))
    for name, rule in properties.items():
        if name not in given and "default" in rule:
            given[name] = rule["default"]
    if missing := sorted(set(schema.get("required", ())) - set(given)):  # type: ignore[call-overload]
        _refuse(f"The parameter {', '.join(missing)} is missing.", missing=missing)
    for name, value in given.items():
        _fits(value, properties[name], name)
    return given


def _check(rule: Mapping[str, Any], at: str) -> None:
    kind = rule.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        _refuse(f"{at} needs a type: one of {', '.join(_TYPES)}.")
    if unknown := sorted(set(rule) - _ANY - _BY_TYPE[kind]):
        _refuse(f"{at} uses {', '.join(unknown)}, which is not checked for {kind}.", unknown=unknown)
    for name in ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"):
        if name in rule and (not isinstance(rule[name], int | float) or isinstance(rule[name], bool)):
            _refuse(f"{at}.{name} must be a number.")
    if "enum" in rule and not (isinstance(rule["enum"], list) and rule["enum"]):
        _refuse(f"{at}.enum must be a list of values.")
    if kind == "array" and "items" in rule:
        _check(_rule(rule["items"], f"{at}.items"), f"{at}.items")
    if kind == "object":
        _check_object(rule, at)
    if "default" in rule:
        _fits(rule["default"], rule, f"{at}.default")


def _check_object(rule: Mapping[str, Any], at: str) -> None:
    properties = _rule(rule.get("properties", {}), f"{at}.properties")
    for name, inner in properties.items():
        _check(_rule(inner, f"{at}.{name}"), f"{at}.{name}")
    required = rule.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) and name in properties for name in required):
        _refuse(f"{at}.required must be a list of names that properties declares.")
    if not isinstance(rule.get("additionalProperties", False), bool):
        _refuse(f"{at}.additionalProperties must be true or false.")


def _rule(value: object, at: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(f"{at} must be an object.")
    return value


def _fits(value: object, rule: Mapping[str, Any], at: str) -> None:
    kind = rule["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        _refuse(f"{at} must be of type {kind}.", field=at)
    # Compared as JSON: 1, 1.0 and true are three values.
    if "enum" in rule and json.dumps(value) not in map(json.dumps, rule["enum"]):
        _refuse(f"{at} must be one of {json.dumps(rule['enum'])[:200]}.", field=at)
    if isinstance(value, str | list):
        name = "Length" if isinstance(value, str) else "Items"
        _within(len(value), rule, f"min{name}", f"max{name}", f"the length of {at}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _within(value, rule, "minimum", "maximum", at)
    if isinstance(value, list) and "items" in rule:
        for item in value:
            _fits(item, rule["items"], f"{at}[]")
    if isinstance(value, dict):
        _fits_object(value, rule, at)


def _fits_object(value: Mapping[str, object], rule: Mapping[str, Any], at: str) -> None:
    properties = rule.get("properties", {})
    if missing := [name for name in rule.get("required", []) if name not in value]:
        _refuse(f"{at}.{missing[0]} is missing.", field=at, missing=missing)
    for name, inner in value.items():
        if name in properties:
            _fits(inner, properties[name], f"{at}.{name}")
        elif not rule.get("additionalProperties", not properties):
            _refuse(f"{at} has no {name[:80]}.", field=at)


def _within(size: float, rule: Mapping[str, Any], least: str, most: str, what: str) -> None:
    if size < rule.get(least, size):
        _refuse(f"{what} must be at least {rule[least]}.")
    if size > rule.get(most, size):
        _refuse(f"{what} must be at most {rule[most]}.")


def _refuse(message: str, **details: object) -> Never:
    raise InvalidInputError(message, details={"field": "parameters", **details})
