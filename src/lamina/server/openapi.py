"""Makes the OpenAPI document that FastAPI writes say what is true of this service. Pure."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from lamina.api.idempotent import takes_key
from lamina.server.example import example_of

Document = dict[str, Any]

_ONCE: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request under the same key is done once; for a day its answer is given again.",
    "schema": {"type": "string", "maxLength": 255},
    "example": "7d0e3a52-import-row-41",
}
_SECURITY: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`lamina key create` makes a key."},
    "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in a header."},
}


def finished(document: Document) -> Document:
    """The document with what FastAPI does not know: keys, one form of error, examples, idempotency keys."""
    document = copy.deepcopy(document)
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SECURITY
    components["parameters"] = {"IdempotencyKey": _ONCE}
    components["responses"] = {}
    document["security"] = [{}, {"bearer": []}, {"api_key": []}]
    for path, method, operation in _operations(document):
        operation["responses"].pop("422", None)  # what is not valid is a 400 here
        for status, response in operation["responses"].items():
            operation["responses"][status] = _response(response, status, components)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            _give_example(content, components)
        if takes_key(method.upper(), path):
            operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/IdempotencyKey"})
            operation["responses"].setdefault("409", {"$ref": "#/components/responses/Error409"})
    for unused in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(unused, None)
    return document


def _operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _response(response: Document, status: str, components: Document) -> Document:
    """A response with its examples; an error that several operations have is written once."""
    contents = response.get("content", {})
    for content in contents.values():
        _give_example(content, components)
    schema = contents.get("application/json", {}).get("schema", {})
    if status.startswith("2"):
        described = _resolved(schema, components).get("description")
        return {**response, "description": described or "Done."}
    if not schema.get("$ref", "").endswith("/ErrorAnswer"):
        return response
    shared: Document = components["responses"]
    shared.setdefault(f"Error{status}", response)
    if shared[f"Error{status}"] != response:
        return response
    return {"$ref": f"#/components/responses/Error{status}"}


def _give_example(content: Document, components: Document) -> None:
    if "example" not in content and "schema" in content:
        content["example"] = example_of(content["schema"], components.get("schemas", {}))


def _resolved(schema: Document, components: Document) -> Document:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Document = components.get("schemas", {}).get(name, schema)
    return found
