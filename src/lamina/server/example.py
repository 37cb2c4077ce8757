"""An example of a schema, from the examples of its fields. Pure."""

from collections.abc import Mapping
from typing import Any, Final

_BY_TYPE: Final[Mapping[str, Any]] = {
    "boolean": False,
    "integer": 1,
    "number": 0.5,
    "null": None,
    "object": {},
    "string": "text",
}
_BY_FORMAT: Final = {"date-time": "2026-05-01T12:00:00Z", "date": "2026-05-01", "uri": "https://example.com"}


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """A value that the schema allows: what it gives as an example, its default, or the plainest there is.

    What may be left out is left out, unless there is an example of it.
    """
    if examples := schema.get("examples"):
        return examples[0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    for combination in ("anyOf", "oneOf", "allOf"):
        if combination in schema:
            choices = schema[combination]
            return None if {"type": "null"} in choices else example_of(choices[0], schemas)
    if "properties" in schema:
        needed = schema.get("required", ())
        shown = {name: value for name, value in schema["properties"].items() if name in needed or "examples" in value}
        return {name: example_of(value, schemas) for name, value in shown.items()}
    if schema.get("type") == "array":
        return [example_of(schema.get("items", {}), schemas)]
    return _BY_FORMAT.get(schema.get("format", ""), _BY_TYPE.get(schema.get("type", "object"), {}))
