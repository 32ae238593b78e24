"""Write the reference of the programming interface, from its own description: python docs/api_reference.py FILE."""

import os
import sys
from pathlib import Path
from typing import Any

Shape = dict[str, Any]
"""A part of an OpenAPI description: JSON as OpenAPI 3.1 defines it."""
HEAD = """# Programming interface: reference

Every address, parameter and field, as in `/api/v1/openapi.json`. How to use it, with examples: [HTTP API](api.md).

Every request has the header `Authorization: Bearer jm_…`. All addresses begin with `/api/v1` and are read with GET.
Refusals have a status of 400 or more and one sentence: `{"error": "…"}`.

| status | means |
|---|---|
| 400 | a parameter makes no sense |
| 401 | no token, or one that is wrong, expired or revoked |
| 403 | the token lacks the scope that the address needs |
| 404 | the token opens no such study, or the study has no such thing |
| 410 | a judge withdrew: delete your copy of the answers and read them again |
| 429 | too many requests; wait as `Retry-After` says |
"""


def write_reference(schema: Shape) -> str:
    """Write an OpenAPI description as Markdown."""
    parts = [HEAD]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            parts.append(_operation(path, operation, schema))
    return "\n".join(parts).rstrip() + "\n"


def _operation(path: str, operation: Shape, schema: Shape) -> str:
    lines = [f"## {operation['summary']}", f"`GET {path}`", "", operation.get("description", "").strip(), ""]
    asked = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    if asked:
        lines += ["| parameter | | |", "|---|---|---|", *map(_parameter, asked), ""]
    answer = operation["responses"].get(200, operation["responses"].get("200", {}))
    shape = answer.get("content", {}).get("application/json", {}).get("schema")
    if shape is not None:
        lines += _answer(shape, schema)
    return "\n".join(lines)


def _parameter(parameter: Shape) -> str:
    shape = parameter["schema"]
    usual = f"; `{shape['default']}` if left out" if shape.get("default") not in (None, "") else ""
    about = parameter.get("description") or shape.get("description") or ""
    return f"| `{parameter['name']}` | {_kind(shape)}{usual} | {about} |"


def _answer(shape: Shape, schema: Shape) -> list[str]:
    """Describe what comes back: an object, or a list of them, and the objects inside."""
    many = shape.get("type") == "array"
    name = _name(shape["items"] if many else shape)
    if name is None:
        return ["Answers a list of objects.", ""]
    lines = [f"Answers {'a list of ' if many else ''}`{name}`: {_of(schema, name)['description'].strip()}", ""]
    lines += _fields(name, schema)
    for inner in _inside(name, schema):
        lines += [f"`{inner}`: {_of(schema, inner)['description'].strip()}", "", *_fields(inner, schema)]
    return lines


def _fields(name: str, schema: Shape) -> list[str]:
    rows = [
        f"| `{field}` | {_kind(shape)} | {shape.get('description', '')} |"
        for field, shape in _of(schema, name)["properties"].items()
    ]
    return ["| field | | |", "|---|---|---|", *rows, ""]


def _inside(name: str, schema: Shape) -> list[str]:
    shapes = _of(schema, name)["properties"].values()
    return [inner for shape in shapes if (inner := _name(shape.get("items", shape))) is not None]


def _of(schema: Shape, name: str) -> Shape:
    shape: Shape = schema["components"]["schemas"][name]
    return shape


def _name(shape: Shape) -> str | None:
    return shape["$ref"].rpartition("/")[2] if "$ref" in shape else None


def _kind(shape: Shape) -> str:
    """Say what kind of value it is.

    >>> _kind({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]})
    'time, or null'
    """
    if "anyOf" in shape:
        return ", or ".join(_kind(each) for each in shape["anyOf"])
    if name := _name(shape):
        return f"`{name}`"
    if "enum" in shape:
        return ", ".join(f"`{each}`" for each in shape["enum"])
    if shape.get("type") == "array":
        inner = _name(shape["items"])
        return f"list of `{inner}`" if inner else f"list of {_kind(shape['items'])}s"
    if shape.get("format") == "date-time":
        return "time"
    limits = [f"from {shape['minimum']}"] if "minimum" in shape else []
    limits += [f"to {shape['maximum']}"] if "maximum" in shape else []
    kinds = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    kind = str(shape.get("type", "anything"))
    return " ".join([kinds.get(kind, kind), *limits])


def main(path: str) -> None:
    """Write the reference into a file."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "judgemap.web.settings")
    import django

    django.setup()
    from judgemap.web.api.endpoints import api

    Path(path).write_text(write_reference(api.get_openapi_schema(path_prefix="/api/v1/")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
