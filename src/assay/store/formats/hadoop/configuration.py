"""Extract the parameters that affect a Hadoop job's speed from its configuration file (``job_…_conf.xml``).

In: the bytes of the XML that ``org.apache.hadoop.conf.Configuration`` writes: properties with name, value and the chain
of sources that set them. Out: a :class:`Property` for each, and from these the parameters that a comparison needs,
under their current names, sizes in bytes.

:func:`parameters` returns a property if its name is on the list below, if it was set explicitly (no ``*-default.xml``
among its sources), and if its value is a plain setting. From a file without sources, it returns all listed properties.
Paths, host names, and values that refer to other properties (``${…}``) are left out, and so are all JVM options except
``-X…``. This keeps names, folders and secrets of the site out of the import.

The XML must not declare a document type, because entities could expand without limit or read other files.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from xml.parsers import expat

from assay.foundation.errors import FormatError

CONF_MAX_BYTES: Final = 64 * 2**20
"""Maximum size of a configuration file, in bytes."""
_NAMES: Final = re.compile(
    r"""
    dfs\.(blocksize | replication | bytes-per-checksum | checksum\.type | client-write-packet-size
          | client\.read\.shortcircuit(\.streams\.cache\.size | \.skip\.checksum)? | encrypt\.data\.transfer
          | client\.cache\.(readahead | drop\.behind\.(reads|writes)) | datanode\.max\.transfer\.threads
          | datanode\.(readahead\.bytes | drop\.cache\.behind\.(reads|writes) | sync\.behind\.writes | handler\.count)
          | namenode\.handler\.count)
    | io\.(file\.buffer\.size | seqfile\.compress\.blocksize)
    | mapreduce\.framework\.name
    | mapreduce\.job\.(reduces | reduce\.slowstart\.completedmaps | jvm\.numtasks
                       | ubertask\.(enable | maxmaps | maxreduces | maxbytes))
    | mapreduce\.(map|reduce)\.(memory\.mb | cpu\.vcores | java\.opts | speculative)
    | mapreduce\.map\.(output\.compress(\.codec)? | sort\.spill\.percent | combine\.minspills)
    | mapreduce\.reduce\.((shuffle | merge)\.[a-z.-]+ | input\.buffer\.percent | markreset\.buffer\.percent)
    | mapreduce\.task\.io\.sort\.(mb | factor)
    | mapreduce\.shuffle\.(max\.(connections | threads) | transfer\.buffer\.size | transferTo\.allowed)
    | mapreduce\.output\.fileoutputformat\.compress(\.codec | \.type)?
    | mapreduce\.input\.fileinputformat\.split\.(minsize | maxsize)(\.per\.(node|rack))?
    | mapred\.child\.java\.opts
    | yarn\.app\.mapreduce\.am\.(resource\.(mb | memory-mb | cpu-vcores) | command-opts)
    | yarn\.nodemanager\.resource\.(memory-mb | cpu-vcores)
    | yarn\.scheduler\.(minimum|maximum)-allocation-(mb|vcores)
    """,
    re.VERBOSE,
)
# Names of Hadoop 1. Hadoop 2 and 3 still accept them, and write them into the file next to the current names.
_CURRENT_NAMES: Final = {
    "dfs.block.size": "dfs.blocksize",
    "io.sort.mb": "mapreduce.task.io.sort.mb",
    "io.sort.factor": "mapreduce.task.io.sort.factor",
    "io.sort.spill.percent": "mapreduce.map.sort.spill.percent",
    "mapred.compress.map.output": "mapreduce.map.output.compress",
    "mapred.map.output.compression.codec": "mapreduce.map.output.compress.codec",
    "mapred.output.compress": "mapreduce.output.fileoutputformat.compress",
    "mapred.output.compression.codec": "mapreduce.output.fileoutputformat.compress.codec",
    "mapred.output.compression.type": "mapreduce.output.fileoutputformat.compress.type",
    "mapred.reduce.tasks": "mapreduce.job.reduces",
    "mapred.reduce.slowstart.completed.maps": "mapreduce.job.reduce.slowstart.completedmaps",
    "mapred.reduce.parallel.copies": "mapreduce.reduce.shuffle.parallelcopies",
    "mapred.map.tasks.speculative.execution": "mapreduce.map.speculative",
    "mapred.reduce.tasks.speculative.execution": "mapreduce.reduce.speculative",
    "mapred.min.split.size": "mapreduce.input.fileinputformat.split.minsize",
    "mapred.max.split.size": "mapreduce.input.fileinputformat.split.maxsize",
}
_SIZES: Final = re.compile(r"dfs\.(blocksize|client-write-packet-size)|io\.file\.buffer\.size|.*\.m(in|ax)size.*")
_SIZE: Final = re.compile(r"([0-9]+)([kmgtpe])", re.IGNORECASE)
_JVM: Final = ("java.opts", "command-opts")
_PLAIN: Final = re.compile(r"[\w.+,% -]{1,200}")


# Hadoop's patterns in hadoop.security.sensitive-config-keys, and more: a false match only hides a setting.
_SECRET: Final = re.compile(
    rb"passw|passphrase|keystore\.pass|secret|token|credential|(access|account|private|session|encryption|sas)[._-]?key",
    re.IGNORECASE,
)
_ENTRY: Final = re.compile(rb"(<property>\s*<name>([^<]*)</name>\s*<value>)([^<]*)(?=</value>)")
_OPTION: Final = re.compile(rb"(-D[^\s=]*(?:passw|passphrase|secret|token|credential)[^\s=]*=)\S+", re.IGNORECASE)
_LOGIN: Final = re.compile(rb"(://[^/\s:@]+:)[^@/\s]+(?=@)")
_REPLACEMENT: Final = b"(left out)"


@dataclass(frozen=True, slots=True)
class Property:
    """One property; ``sources`` are the files that set it, oldest first; empty if the file does not record them."""

    name: str
    value: str
    sources: tuple[str, ...]

    @property
    def is_default(self) -> bool:
        """Whether Hadoop's default applies."""
        return any(source.endswith("default.xml") for source in self.sources)


def read_conf(content: bytes, *, source: str = "configuration") -> dict[str, Property]:
    """Return the properties in ``content`` by name; the last value of a repeated name counts.

    Raises :class:`FormatError` with the line if it is not a configuration file, is cut off, or declares a document
    type.
    """
    if len(content) > CONF_MAX_BYTES:
        raise FormatError(f"the configuration is larger than {CONF_MAX_BYTES // 2**20} MiB", where=source)
    reader = _ConfigurationReader(source)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        where = f"{source}:{error.lineno}"
        raise FormatError(f"the XML is damaged or cut off: {expat.ErrorString(error.code)}", where=where) from error
    except (LookupError, ValueError) as error:  # an unknown or a multi-byte encoding
        raise FormatError(f"the XML can't be decoded: {error}", where=f"{source}:1") from error
    return {property_.name: property_ for property_ in reader.properties}


def without_secrets(content: bytes) -> bytes:
    """Return a configuration file in which the values of secrets, recognised by name, are replaced.

    A job's configuration has all settings of the client's files, including passwords of storage services. Passwords in
    JVM options ``-D…=`` and in addresses are replaced too.
    """

    def replace_secret(match: re.Match[bytes]) -> bytes:
        value = _REPLACEMENT if _SECRET.search(match[2]) and match[3] else match[3]
        return match[1] + _LOGIN.sub(rb"\g<1>" + _REPLACEMENT, _OPTION.sub(rb"\g<1>" + _REPLACEMENT, value))

    return _ENTRY.sub(replace_secret, content)


class _ConfigurationReader:
    """A collector of the properties that expat parses."""

    def __init__(self, source: str) -> None:
        self.properties: list[Property] = []
        self._source = source
        self._path: list[str] = []
        self._fields: list[tuple[str, str]] = []
        self._text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append

    def _doctype(self, *_: object) -> None:
        raise self._error("declares a document type, so it is not read: Hadoop's configurations have none")

    def _begin(self, name: str, _: dict[str, str]) -> None:
        if not self._path and name != "configuration":
            raise self._error(f"is not a Hadoop configuration: its root is <{name[:40]}>")
        self._path.append(name)
        self._text.clear()
        if len(self._path) == 2:
            self._fields = []

    def _end(self, name: str) -> None:
        if len(self._path) == 3:
            self._fields.append((name, "".join(self._text)))
        elif len(self._path) == 2 and name == "property":
            values = dict(reversed(self._fields))
            if "name" in values and "value" in values:
                sources = tuple(text.strip() for key, text in self._fields if key == "source")
                self.properties.append(Property(values["name"].strip(), values["value"].strip(), sources))
        self._path.pop()

    def _error(self, message: str) -> FormatError:
        return FormatError(message, where=f"{self._source}:{self.parser.CurrentLineNumber}")


def parameters(properties: Iterable[Property]) -> dict[str, str]:
    """Return the explicitly set parameters that affect speed, sorted by name; see the module's docstring."""
    values: dict[str, str] = {}
    for prop in properties:
        name = _CURRENT_NAMES.get(prop.name, prop.name)
        if (name != prop.name and name in values) or prop.is_default or not _NAMES.fullmatch(name):
            continue
        if value := _value(name, prop.value):
            values[name] = value
    return dict(sorted(values.items()))


def _value(name: str, value: str) -> str | None:
    """Return a value in a form that can be compared; None if it is not a plain setting."""
    if name.endswith(_JVM):
        return jvm_options(value)
    if name.startswith("mapreduce.reduce.shuffle") and value.startswith("/"):
        return None
    if _SIZES.fullmatch(name) and (size := _SIZE.fullmatch(value)):
        return str(int(size[1]) * 1024 ** ("kmgtpe".index(size[2].lower()) + 1))
    return value if _PLAIN.fullmatch(value) else None


def jvm_options(value: str) -> str | None:
    """Return the ``-X…`` options that do not name a file; None if there are none."""
    return " ".join(option for option in value.split() if re.fullmatch(r"-X[\w:+=.%-]{1,100}", option)) or None
