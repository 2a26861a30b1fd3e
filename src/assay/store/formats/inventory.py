"""Read host names and addresses from files of other tools: Ansible inventories, Hadoop's configuration.

In: the text of an inventory (INI or YAML, docs.ansible.com "How to build your inventory"), or a Hadoop configuration
directory. Out: :class:`ListedHost` values in the file's order. Values that Ansible would compute (variables in
``{{ }}``, dynamic inventories) are rejected with the reason.
"""

import itertools
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from assay.foundation.errors import FormatError
from assay.model.clusters.host_address import parse_host_address, parse_port
from assay.store.formats.hadoop.configuration import read_conf

HOSTS_MAX = 10_000
"""Maximum number of hosts to which one pattern may expand."""
_RANGE = re.compile(
    r"\[(?:(?P<begin>[0-9]{1,9})-(?P<end>[0-9]{1,9})"
    r"|(?P<first>[0-9]{1,9}|[a-zA-Z]):(?P<last>[0-9]{1,9}|[a-zA-Z])(?::(?P<step>[0-9]{1,9}))?)\]"
)
_GROUP_DEPTH_MAX = 20
"""Maximum depth of groups within groups. It bounds the recursion."""
_MASTER_KEYS = re.compile(
    r"dfs\.namenode\.(rpc|http)-address(\..+)?|yarn\.resourcemanager\.(hostname|address|webapp\.address)(\..+)?"
)


@dataclass(frozen=True, slots=True)
class ListedHost:
    """A host in a file; values that the file does not state are None."""

    name: str
    address: str
    user: str | None = None
    port: int | None = None
    key: str | None = None


def expanded_names(pattern: str) -> list[str]:
    """Return all names that match a ``pattern`` such as ``worker[01:12].rack`` or ``worker[1-12]``.

    The names keep leading zeros. Raises FormatError for a range without hosts, and for more than ``HOSTS_MAX`` names.
    """
    parts: list[Sequence[str]] = []
    position = 0
    for match in _RANGE.finditer(pattern):
        parts += [[pattern[position : match.start()]], _range_words(match)]
        position = match.end()
    last_part = pattern[position:]
    literal = "".join(part[0] for part in parts[::2]) + last_part
    if "[" in literal and not re.search(r"\[[0-9A-Fa-f]*:[0-9A-Fa-f]*:[^\[\]]*\]", literal):  # not an IPv6 address
        raise FormatError("it has a bracket that is not a range", where=pattern[:100], hint="write [01:12] or [1-12]")
    count = math.prod(map(len, parts))
    if count > HOSTS_MAX:
        raise FormatError(f"it expands to {count:,} hosts; the maximum is {HOSTS_MAX:,}", where=pattern[:100])
    return ["".join(words) for words in itertools.product(*parts, [last_part])]


def _range_words(match: re.Match[str]) -> list[str]:
    first, last = match["begin"] or match["first"], match["end"] or match["last"]
    step = int(match["step"] or 1)
    if first.isdigit() != last.isdigit() or first.islower() != last.islower() or step < 1:
        raise FormatError(f"{match[0]} is not a range", where=match.string[:100], hint="write [01:12] or [1-12]")
    is_number = first.isdigit()
    numbers = range(int(first), int(last) + 1, step) if is_number else range(ord(first), ord(last) + 1, step)
    if not 0 < len(numbers) <= HOSTS_MAX:
        hint = "write the smaller end first" if not numbers else None
        raise FormatError(f"{match[0]} stands for {len(numbers):,} hosts", where=match.string[:100], hint=hint)
    return [str(number).zfill(len(first)) if is_number else chr(number) for number in numbers]


def read_inventory(path: Path) -> list[ListedHost]:
    """Return the hosts of an Ansible inventory, each once.

    Raises FormatError with the file's name if the inventory can't be read or names no host.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"the inventory can't be read: {error}", where=str(path)) from error
    is_yaml = path.suffix in (".yaml", ".yml") or text.lstrip().startswith(("---", "all:"))
    try:
        hosts = dict(_yaml_hosts(text) if is_yaml else _ini_hosts(text))
    except (YAMLError, ValueError) as error:
        raise FormatError(f"it is not an inventory: {error}", where=str(path)) from error
    except FormatError as error:
        raise FormatError(error.message, where=f"{path}: {error.where}", hint=error.hint) from error
    if not hosts:
        raise FormatError("the inventory names no host", where=str(path))
    return [_listed_host(name, variables, path) for name, variables in hosts.items()]


def _listed_host(name: str, variables: Mapping[str, Any], path: Path) -> ListedHost:
    def text(*keys: str) -> str | None:
        value = next((str(variables[key]) for key in keys if variables.get(key) is not None), None)
        if value and "{{" in value:
            hint = "write it out: `ansible-inventory --list` prints the result"
            raise FormatError(f"{keys[0]} is computed: {value}", where=f"{path}: {name}", hint=hint)
        return value

    try:
        host_address = parse_host_address(name)
        port = text("ansible_port", "ansible_ssh_port")
        return ListedHost(
            host_address.host,
            text("ansible_host", "ansible_ssh_host") or host_address.host,
            text("ansible_user", "ansible_ssh_user") or host_address.user,
            parse_port(port) if port else host_address.port,
            text("ansible_ssh_private_key_file"),
        )
    except ValueError as error:
        raise FormatError(str(error), where=f"{path}: {name}") from error


def _ini_hosts(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each host with its variables.

    A host's own variables override those of its groups, and a group's variables override those of its parent groups.
    """
    group, part = "ungrouped", ""
    groups_of: dict[str, list[str]] = {}
    variables_of: dict[str, dict[str, Any]] = {}
    group_variables: dict[str, dict[str, Any]] = {}
    parents: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if heading := re.fullmatch(r"\[([^\]:]+)(?::(\w+))?\]", line):
            group, part = heading[1], heading[2] or ""
            if part not in ("", "vars", "children"):
                raise FormatError("a section is not GROUP, GROUP:vars or GROUP:children", where=line[:100])
            continue
        if part == "vars":
            key, _, value = line.partition("=")
            group_variables.setdefault(group, {})[key.strip()] = value.strip().strip("'\"")
            continue
        words = shlex.split(line, comments=True)
        if part == "children":
            parents.setdefault(words[0], []).append(group)
            continue
        host_variables = {key: value for key, equals, value in (word.partition("=") for word in words[1:]) if equals}
        for name in expanded_names(words[0]):
            groups_of.setdefault(name, []).append(group)
            variables_of.setdefault(name, {}).update(host_variables)
        if len(groups_of) > HOSTS_MAX:
            raise FormatError(f"there are more than {HOSTS_MAX:,} hosts", where=line[:100])
    for name, groups in groups_of.items():
        inherited: dict[str, Any] = {}
        for ordered_group in _outermost_first(groups, parents):
            inherited |= group_variables.get(ordered_group, {})
        yield name, inherited | variables_of[name]


def _outermost_first(groups: Sequence[str], parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a host's groups and all groups above them, in the order in which Ansible merges their variables.

    The order is by depth below ``all``, then by name. Raises FormatError for a group that contains itself.
    """
    depths = {"all": 0}

    def visit(group: str, child_groups: tuple[str, ...]) -> int:
        if group in child_groups or len(child_groups) > _GROUP_DEPTH_MAX:
            hint = f"groups may be {_GROUP_DEPTH_MAX} deep, and none may contain itself"
            raise FormatError(
                f"the groups are too deep: {' in '.join(child_groups[:5])} in {group}", where=group, hint=hint
            )
        if group not in depths:
            depths[group] = 1 + max(
                (visit(parent, (*child_groups, group)) for parent in parents.get(group, ())), default=0
            )
        return depths[group]

    for group in groups:
        visit(group, ())
    return sorted(depths, key=lambda group: (depths[group], group))


def _yaml_hosts(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    tree = YAML(typ="safe", pure=True).load(text)
    hosts: dict[str, dict[str, Any]] = {}

    def walk(group: Any, inherited: Mapping[str, Any], depth: int) -> None:
        if not isinstance(group, dict) or depth > _GROUP_DEPTH_MAX:
            return
        group_variables = {**inherited, **(group.get("vars") or {})}
        for pattern, variables in (group.get("hosts") or {}).items():
            for name in expanded_names(str(pattern)):
                hosts[name] = {**group_variables, **hosts.get(name, {}), **(variables or {})}
            if len(hosts) > HOSTS_MAX:
                raise FormatError(f"there are more than {HOSTS_MAX:,} hosts", where=str(pattern)[:100])
        for child in (group.get("children") or {}).values():
            walk(child, group_variables, depth + 1)

    for group in (tree or {}).values() if isinstance(tree, dict) else ():
        walk(group, {}, 0)
    yield from hosts.items()


@dataclass(frozen=True, slots=True)
class HadoopHosts:
    """The hosts that a Hadoop configuration directory names."""

    masters: tuple[str, ...]
    workers: tuple[str, ...]
    namenode_http: tuple[str, ...]
    """Addresses of NameNodes that can list the DataNodes, if no file lists the workers."""


def read_hadoop_hosts(folder: Path) -> HadoopHosts:
    """Return the hosts that the ``*-site.xml`` and ``workers`` files of a directory name.

    Raises FormatError for a directory without Hadoop's settings, and for federation, which assay does not support.
    """
    settings: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
        try:
            content = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise FormatError(f"it can't be read: {error}", where=str(folder / name)) from error
        properties = read_conf(content, source=str(folder / name))
        settings |= {property_.name: property_.value for property_ in properties.values()}
    if not settings:
        hint = "name the directory with core-site.xml, such as /etc/hadoop/conf"
        raise FormatError("no Hadoop settings were found", where=str(folder), hint=hint)
    services = [word for word in re.split(r"[,\s]+", settings.get("dfs.nameservices", "")) if word]
    if len(services) > 1:
        message = f"its HDFS is federated ({', '.join(services)}), which assay does not support"
        raise FormatError(message, where=str(folder), hint="name the hosts of one name service by hand")
    match = re.match(r"hdfs://([^/:]+)", settings.get("fs.defaultFS", settings.get("fs.default.name", "")))
    hosts = [match[1]] if match and match[1] not in services else []
    hosts += [value.split(":")[0] for name, value in settings.items() if _MASTER_KEYS.fullmatch(name)]
    usable_hosts = [host for host in hosts if host and "$" not in host and host != "0.0.0.0"]  # noqa: S104 - not bound to
    http_addresses = [
        value for name, value in settings.items() if name.startswith("dfs.namenode.http-address") and ":" in value
    ]
    return HadoopHosts(
        tuple(dict.fromkeys(usable_hosts)),
        tuple(_workers(folder)),
        tuple(http_addresses or [f"{host}:9870" for host in usable_hosts[:2]]),
    )


def _workers(folder: Path) -> Iterator[str]:
    for name in ("workers", "slaves"):
        if (folder / name).is_file():
            lines = (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
            names = [line.split("#")[0].strip() for line in lines]
            yield from (host for host in dict.fromkeys(names) if host and host != "localhost")
            return
