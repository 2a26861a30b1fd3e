"""Describe the questions of the Python API as tools of the Model Context Protocol, and ask them.

In: the methods of :class:`~assay.interfaces.python.repository.OpenedRepository`, with their signatures. Out: the JSON
Schema of the arguments of each question, and its :class:`~assay.interfaces.python.answer.Answer`. There is no second
list of questions.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assay.foundation.errors import SpecificationError, did_you_mean
from assay.interfaces.python.answer import Answer
from assay.interfaces.python.repository import OpenedRepository
from assay.questions.comparisons.side_by_side import Of

_JSON_TYPES = {"PriceBook": str, "Path": str, "Mapping": Mapping, "Sequence": Sequence, "Of": Of}
"""Types of JSON arguments, for names in the signatures of questions: price books and paths are paths of files."""
_CLOSE = "close"
"""The only public method of a repository that is not a question."""
_VARIADIC = inspect.Parameter.VAR_POSITIONAL


def question_names() -> list[str]:
    """Return the names of all questions."""
    methods = inspect.getmembers(OpenedRepository, inspect.isfunction)
    return [name for name, _ in methods if not name.startswith("_") and name != _CLOSE]


def _method(name: str) -> Callable[..., Answer[Any]]:
    if name not in question_names():
        suggestion = did_you_mean(name, question_names())
        raise SpecificationError(
            f"unknown question {name!r}", hint=f"{suggestion}choices: {', '.join(question_names())}"
        )
    method: Callable[..., Answer[Any]] = getattr(OpenedRepository, name)
    return method


def _parameters(name: str) -> list[inspect.Parameter]:
    return list(inspect.signature(_method(name)).parameters.values())[1:]


@cache
def _arguments(name: str) -> type[BaseModel]:
    """Return the type of the arguments of a question, from the signature of its method."""
    fields: dict[str, Any] = {}
    for parameter in _parameters(name):
        if parameter.kind is _VARIADIC:
            fields[parameter.name] = (f"list[{parameter.annotation}]", ...)
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (parameter.annotation, default)
    model = create_model(name, __config__=ConfigDict(extra="forbid", defer_build=True), **fields)
    module = sys.modules[_method(name).__module__]
    model.model_rebuild(_types_namespace={**vars(module), **_JSON_TYPES})
    return model


def argument_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a question."""
    schema = _arguments(name).model_json_schema()
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"}


def description(name: str) -> str:
    """Return the description of a question: the documentation of its method."""
    return plain_text(inspect.getdoc(_method(name)) or name)


def plain_text(documentation: str) -> str:
    """Return documentation as Markdown."""
    return documentation.replace("``", "`")


def ask(repository: OpenedRepository, name: str, arguments: Mapping[str, Any]) -> Answer[Any]:
    """Ask a question. Raises SpecificationError for an unknown question, and for wrong arguments."""
    model = _arguments(name)
    try:
        checked_arguments = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise _argument_error(name, error) from error
    values = {field: getattr(checked_arguments, field) for field in checked_arguments.model_fields_set}
    variadic_values: list[Any] = []
    for parameter in _parameters(name):
        if parameter.kind is _VARIADIC:
            variadic_values += values.pop(parameter.name)
    return _method(name)(repository, *variadic_values, **values)


def _argument_error(name: str, error: ValidationError) -> SpecificationError:
    """Return the first mistake in the arguments of a question as an error of assay."""
    first_error = error.errors(include_url=False)[0]
    argument = str(first_error["loc"][0]) if first_error["loc"] else name
    parameter_names = [parameter.name for parameter in _parameters(name)]
    if argument not in parameter_names:
        suggestion = did_you_mean(argument, parameter_names)
        choices = ", ".join(parameter_names)
        return SpecificationError(
            f"unknown argument {argument!r}", where=name, hint=f"{suggestion}arguments: {choices}"
        )
    return SpecificationError(f"{argument}: {first_error['msg']}", where=name, hint=description(name))
