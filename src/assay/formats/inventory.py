"""Host names and how they are reached, from files that other tools keep: Ansible inventories, Hadoop's configuration.

In: the text of an inventory (INI or YAML, docs.ansible.com "How to build your inventory"), or a Hadoop configuration
directory. Out: :class:`Listed` values in the file's order. What Ansible would compute (variables in ``{{ }}``, dynamic
inventories) is refused in words.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from assay.errors import FormatError
from assay.formats.hadoop.configuration import read_conf

HOSTS_MAX = 10_000
_RANGE = re.compile(r"\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\]")
_SHORT_RANGE = re.compile(r"\[([0-9]+)-([0-9]+)\]")
_MASTER_KEYS = re.compile(
    r"dfs\.namenode\.(rpc|http)-address(\..+)?|yarn\.resourcemanager\.(hostname|address|webapp\.address)(\..+)?"
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A host as a file has it; None: not said."""

    name: str
    address: str
    user: str | None = None
    port: int | None = None
    key: str | None = None


def expanded(pattern: str) -> list[str]:
    """Return the names that ``worker[01:12].rack`` or ``worker[1-12]`` stands for, leading zeros kept."""
    match = _SHORT_RANGE.search(pattern) or _RANGE.search(pattern)
    if match is None:
        return [pattern]
    first, last = match[1], match[2]
    step = int(match[3]) if match.lastindex and match.lastindex > 2 and match[3] else 1
    if first.isdigit() != last.isdigit() or step < 1:
        raise FormatError(f"{match[0]} is not a range", where=pattern, hint="write [01:12] or [1-12]")
    if first.isdigit():
        numbers = range(int(first), int(last) + 1, step)
        if not 0 < len(numbers) <= HOSTS_MAX:
            raise FormatError(f"{match[0]} stands for {len(numbers)} hosts", where=pattern)
        words = [str(number).zfill(len(first)) for number in numbers]
    else:
        words = [chr(code) for code in range(ord(first), ord(last) + 1, step)]
    found = [f"{pattern[: match.start()]}{word}{pattern[match.end() :]}" for word in words]
    return [name for each in found for name in expanded(each)]


def read_inventory(path: Path) -> list[Listed]:
    """Return the hosts of an Ansible inventory, each once. Raises FormatError, with the file's name, for none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"the inventory can't be read: {error}", where=str(path)) from error
    is_yaml = path.suffix in (".yaml", ".yml") or text.lstrip().startswith(("---", "all:"))
    try:
        found = dict(_yaml_hosts(text) if is_yaml else _ini_hosts(text))
    except (YAMLError, ValueError) as error:
        raise FormatError(f"it is not an inventory: {error}", where=str(path)) from error
    except FormatError as error:
        raise FormatError(error.message, where=f"{path}: {error.where}", hint=error.hint) from error
    if not found:
        raise FormatError("the inventory names no host", where=str(path))
    return [_listed(name, variables, path) for name, variables in found.items()]


def _listed(name: str, variables: Mapping[str, Any], path: Path) -> Listed:
    def text(*keys: str) -> str | None:
        value = next((str(variables[key]) for key in keys if variables.get(key) is not None), None)
        if value and "{{" in value:
            hint = "write it out: `ansible-inventory --list` prints what it comes to"
            raise FormatError(f"{keys[0]} is computed: {value}", where=f"{path}: {name}", hint=hint)
        return value

    port = text("ansible_port", "ansible_ssh_port")
    if port and not port.isdecimal():
        raise FormatError(f"ansible_port {port!r} is not a port", where=f"{path}: {name}")
    return Listed(
        name,
        text("ansible_host", "ansible_ssh_host") or name,
        text("ansible_user", "ansible_ssh_user"),
        int(port) if port else None,
        text("ansible_ssh_private_key_file"),
    )


def _ini_hosts(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield host and variables; a group's variables stand behind those of its hosts."""
    group, part = "ungrouped", ""
    members: dict[str, list[str]] = {}
    own: dict[str, dict[str, Any]] = {}
    shared: dict[str, dict[str, Any]] = {}
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if heading := re.fullmatch(r"\[([^\]:]+)(?::(\w+))?\]", line):
            group, part = heading[1], heading[2] or ""
            continue
        if part == "vars":
            key, _, value = line.partition("=")
            shared.setdefault(group, {})[key.strip()] = value.strip().strip("'\"")
        elif part == "":
            words = shlex.split(line, comments=True)
            given = {key: value for key, equals, value in (word.partition("=") for word in words[1:]) if equals}
            for name in expanded(words[0]):
                members.setdefault(name, []).append(group)
                own.setdefault(name, {}).update(given)
    for name, groups in members.items():
        inherited: dict[str, Any] = dict(shared.get("all", {}))
        for each in groups:
            inherited |= shared.get(each, {})
        yield name, inherited | own[name]


def _yaml_hosts(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    tree = YAML(typ="safe", pure=True).load(text)
    found: dict[str, dict[str, Any]] = {}

    def walk(group: Any, inherited: Mapping[str, Any], depth: int) -> None:
        if not isinstance(group, dict) or depth > 20:
            return
        shared = {**inherited, **(group.get("vars") or {})}
        for pattern, variables in (group.get("hosts") or {}).items():
            for name in expanded(str(pattern)):
                found[name] = {**shared, **found.get(name, {}), **(variables or {})}
        for child in (group.get("children") or {}).values():
            walk(child, shared, depth + 1)

    for group in (tree or {}).values() if isinstance(tree, dict) else ():
        walk(group, {}, 0)
    yield from found.items()


@dataclass(frozen=True, slots=True)
class HadoopHosts:
    """The hosts that a Hadoop configuration directory names."""

    masters: tuple[str, ...]
    workers: tuple[str, ...]
    namenode_http: tuple[str, ...]
    """Addresses at which a NameNode may tell its DataNodes, where no file lists the workers."""


def read_hadoop_hosts(folder: Path) -> HadoopHosts:
    """Return the hosts that the ``*-site.xml`` and ``workers`` files of a directory name.

    Raises FormatError for a directory without Hadoop's settings, and for federation, which assay does not know.
    """
    settings: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
        try:
            content = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise FormatError(f"it can't be read: {error}", where=str(folder / name)) from error
        found = read_conf(content, source=str(folder / name))
        settings |= {each.name: each.value for each in found.values()}
    if not settings:
        hint = "name the directory with core-site.xml, such as /etc/hadoop/conf"
        raise FormatError("there are no settings of a Hadoop", where=str(folder), hint=hint)
    services = [word for word in re.split(r"[,\s]+", settings.get("dfs.nameservices", "")) if word]
    if len(services) > 1:
        words = f"its HDFS is federated ({', '.join(services)}), which assay does not know"
        raise FormatError(words, where=str(folder), hint="name the hosts of one name service by hand")
    default = re.match(r"hdfs://([^/:]+)", settings.get("fs.defaultFS", settings.get("fs.default.name", "")))
    hosts = [default[1]] if default and default[1] not in services else []
    hosts += [value.split(":")[0] for name, value in settings.items() if _MASTER_KEYS.fullmatch(name)]
    usable = [host for host in hosts if host and "$" not in host and host != "0.0.0.0"]  # noqa: S104 - not bound to
    http = [value for name, value in settings.items() if name.startswith("dfs.namenode.http-address") and ":" in value]
    return HadoopHosts(
        tuple(dict.fromkeys(usable)), tuple(_workers(folder)), tuple(http or [f"{host}:9870" for host in usable[:2]])
    )


def _workers(folder: Path) -> Iterator[str]:
    for name in ("workers", "slaves"):
        if (folder / name).is_file():
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
            names = [line.split("#")[0].strip() for line in lines]
            yield from (each for each in dict.fromkeys(names) if each and each != "localhost")
            return
