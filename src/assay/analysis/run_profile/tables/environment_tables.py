"""Lay out the environment of a run as tables of text: hosts, cluster and programs.

In: a run's environment, a tree. Out: :class:`TextTable`s of paths and values. Values that all nodes share are in one
table; the table of a node has only its differences.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.text import TextTable, plural

ROWS_MAX = 400
"""Maximum number of rows in one table."""
_CHARACTERS_MAX = 300
"""Maximum length of a value, in characters."""
_NODES = "nodes"
_OMITTED_ROW = ("…", "and more: `assay show --json` and the API have all of it")
Leaves = dict[str, str]


def environment_tables(environment: Mapping[str, Any]) -> tuple[TextTable, ...]:
    """Return a table for each entry of the tree that has sub-entries, and one table of all other entries."""
    simple_entries = {name: value for name, value in environment.items() if not isinstance(value, Mapping)}
    tables = [_table("the run", _leaves(simple_entries))]
    for name, value in environment.items():
        if isinstance(value, Mapping):
            tables += _entry_tables(name, value)
    return tuple(table for table in tables if table)


def _entry_tables(name: str, tree: Mapping[str, Any]) -> Iterator[TextTable]:
    nodes = tree if name == _NODES else tree.get(_NODES)
    if isinstance(nodes, Mapping) and nodes and all(isinstance(node, Mapping) for node in nodes.values()):
        if name != _NODES:
            yield _table(name, _leaves({key: value for key, value in tree.items() if key != _NODES}))
        yield from _node_tables("" if name == _NODES else f"{name}: ", nodes)
    else:
        yield _table(name, _leaves(tree))


def _node_tables(title: str, nodes: Mapping[str, Any]) -> Iterator[TextTable]:
    leaves = {name: _leaves(node) for name, node in nodes.items()}
    first = next(iter(leaves.values()))
    common_texts = {
        path: text for path, text in first.items() if all(texts.get(path) == text for texts in leaves.values())
    }
    if len(leaves) > 1:
        yield _table(f"{title}alike on all {plural(len(leaves), 'node')}", common_texts)
    else:
        common_texts = {}
    for name, texts in leaves.items():
        yield _table(f"{title}node {name}", {path: text for path, text in texts.items() if path not in common_texts})


def _table(title: str, leaves: Leaves) -> TextTable:
    rows = tuple(leaves.items())
    return TextTable(title, (), rows if len(rows) <= ROWS_MAX else (*rows[:ROWS_MAX], _OMITTED_ROW))


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Leaves:
    texts: Leaves = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            texts |= _leaves(value, f"{prefix}{name} › ")
        elif value is not None:
            texts[f"{prefix}{name}"] = str(value)[:_CHARACTERS_MAX]
    return texts
