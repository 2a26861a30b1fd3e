"""Validate a document as a model of its kind of file, with the base class and JSON Schema of all models.

:class:`Section` is the base of all file models: unknown keys are errors, and attribute docstrings become the
descriptions in the JSON Schema. :func:`parse` collects every error of a file with its line.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from assay.specs.document import Document, Location, Problems
from assay.specs.fields import unknown


class Section(BaseModel):
    """A mapping in a specification file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema with the attribute docstrings as descriptions.

        pydantic's ``use_attribute_docstrings`` parses the source of each class when it is defined: a tenth of the CPU
        time of a command, which needs no descriptions.
        """
        result = handler(schema)
        properties = handler.resolve_ref_schema(result).get("properties", {})
        for model in reversed(cls.__mro__):
            if issubclass(model, Section):
                for name, text in _attribute_docstrings(model).items():
                    field = cls.model_fields[name]
                    properties[field.alias or name]["description"] = field.description or text
        return result


S = TypeVar("S", bound=Section)


def _attribute_docstrings(model: type[Section]) -> dict[str, str]:
    """Return the docstring below each field in the source of ``model``; empty for a model without source."""
    try:
        ((definition,)) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    except OSError:
        return {}  # create_model made the model, with descriptions
    texts = {}
    for field, next_statement in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
        match field, next_statement:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = inspect.cleandoc(text)
    return texts


class _Schema(GenerateJsonSchema):
    """A JSON Schema generator without null, because an optional key may be absent but not null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Return the schema without null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema with its default, unless that is None."""
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Return the schema of a mapping whose keys must match their pattern: no other key is allowed."""
        result = super().dict_schema(schema)
        return {**result, "additionalProperties": False} if "patternProperties" in result else result


def schema_of(model: type[Section]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``model``."""
    return {"$schema": _Schema.schema_dialect, **model.model_json_schema(schema_generator=_Schema)}


def parse(model: type[S], document: Document) -> S:
    """Return ``document`` as ``model``. Raises one :class:`SpecificationError` with every error and its line."""
    problems = Problems(document)
    keys = [field.alias or name for name, field in model.model_fields.items()]
    if sum(key in keys for key in document.content) * 2 < len(document.content):
        file_keys = ", ".join(list(document.content)[:8])
        problems.add((), f"this is not a {keys[0]} file: its keys are {file_keys}; valid: {', '.join(keys)}")
        problems.raise_if_any()
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            problems.add(_location(detail), _problem_text(detail, model, document))
        problems.raise_if_any()
        raise


def _location(detail: ErrorDetails) -> Location:
    """Return the location of the value, without the element ``[key]`` that pydantic appends for an invalid key."""
    location = detail["loc"]
    return location[:-1] if location and location[-1] == "[key]" else location


def _problem_text(detail: ErrorDetails, model: type[Section], document: Document) -> str:
    """Return the message for an error, with the key in the file."""
    location = _location(detail)
    parts_in_file = [part for index, part in enumerate(location) if location[: index + 1] in document.lines]
    key = next((part for part in reversed(parts_in_file) if isinstance(part, str)), "")
    prefix = f"{key}: " if key else ""
    match detail["type"]:
        case "extra_forbidden":
            return unknown("key", str(location[-1]), valid_keys(model, location[:-1]))
        case "missing":
            return f"key {location[-1]!r} is missing{f' in {key!r}' if key else ''}"
        case "value_error":
            return f"{prefix}{detail['ctx']['error']}"
        case "too_short":
            return f"{prefix}at least one entry is needed"
        case "model_type" | "dict_type" | "model_attributes_type":
            keys = ", ".join(valid_keys(model, location))
            return f"{prefix}keys with values are expected here{f'; valid: {keys}' if keys else ''}"
        case "list_type":
            return f"{prefix}a list is expected here, such as [a, b]"
    return f"{prefix}{detail['msg']}"


@lru_cache(maxsize=8)
def _cached_schema(model: type[Section]) -> Mapping[str, Any]:
    return schema_of(model)


def valid_keys(model: type[Section], location: Location) -> list[str]:
    """Return the keys that ``model`` allows in the mapping at ``location``; empty where any name is allowed."""
    schema = _cached_schema(model)
    node = _resolve(schema, schema)
    for part in location:
        named_property = node.get("properties", {}).get(part)
        pattern_property = next(iter(node.get("patternProperties", {}).values()), None)
        inner = node.get("items") if isinstance(part, int) else named_property or pattern_property
        if not isinstance(inner, dict):
            return []
        node = _resolve(inner, schema)
    return list(node.get("properties", {}))


def _resolve(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow ``$ref``, and select the object among alternatives."""
    if "$ref" in node:
        return _resolve(root["$defs"][node["$ref"].rsplit("/", 1)[-1]], root)
    alternatives = [_resolve(option, root) for option in node.get("anyOf", ())]
    return next((option for option in alternatives if "properties" in option), node)
