"""Unpacks Spark event logs, whichever of Spark's codecs packed them.

In: a file's bytes. Out: the log's text as bytes; files that are not packed are given back as they are. The framings are
those of the streams that org.apache.spark.io.CompressionCodec writes: LZ4BlockOutputStream (``LZ4Block``, token, two
lengths and a checksum before each block, little-endian), SnappyOutputStream of snappy-java (16 bytes of header, then
blocks with their length before them, big-endian), LZFOutputStream (``ZV`` chunks), and Zstandard frames.

The blocks of LZ4, Snappy and Zstandard are unpacked by the package ``cramjam``; where it is not installed, such a file
is refused and the package named. LZF is unpacked here: no package that is kept well does.
"""

import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.store.formats.source import SIZE_MAX_BYTES

_LZ4_HEADER: Final = struct.Struct("<8sBiii")
_SNAPPY_HEADER: Final = b"\x82SNAPPY\x00"
_CUT: Final = "the packed log is damaged, cut off, or still written"


def codec_of(head: bytes) -> str | None:
    """Return the codec that packed a file, by its first bytes; None when it is not packed by one of Spark's."""
    return next((name for name, (magic, _) in _CODECS.items() if head.startswith(magic)), None)


def unpacked(content: bytes, name: str) -> bytes:
    """Decompress ``content``.

    Raises :class:`FormatError` when it is damaged or enormous, or when the package that unpacks it is not installed.
    """
    codec = codec_of(content[:16])
    if codec is None:
        return content
    try:
        return _CODECS[codec][1](content)
    except _DamagedError as error:
        raise FormatError(f"{_CUT} ({codec}: {error})", where=name) from error
    except ModuleNotFoundError as error:
        raise FormatError(
            f"is packed with {codec}, and the Python package {error.name!r} that unpacks it is not installed",
            where=name,
            hint=f"install {error.name}, or unpack the file first",
        ) from error


class _DamagedError(Exception):
    """The compressed bytes contradict their framing."""


def _checked(unpack: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the library, and raise its many errors as one."""
    try:
        return unpack(*given)
    except Exception as error:
        raise _DamagedError(f"{error!s:.100}") from error


def _joined(blocks: Iterator[bytes]) -> bytes:
    """Return the blocks as one; refuses more than any log should have."""
    joined = bytearray()
    for block in blocks:
        joined += block
        _limited(len(joined))
    return bytes(joined)


def _limited(size_bytes: int) -> int:
    if not 0 <= size_bytes <= SIZE_MAX_BYTES:
        raise _DamagedError(f"it would unpack to {size_bytes} bytes")
    return size_bytes


def _part(content: bytes, begin: int, length: int) -> bytes:
    if length < 0 or begin + length > len(content):
        raise _DamagedError(f"it ends within a block at byte {begin}")
    return content[begin : begin + length]


def _lz4(content: bytes) -> bytes:
    codec = import_module("cramjam").lz4

    def blocks() -> Iterator[bytes]:
        offset = 0
        while offset < len(content):
            header = _part(content, offset, _LZ4_HEADER.size)
            magic, token, packed_bytes, whole_bytes, _ = _LZ4_HEADER.unpack(header)
            packed = _part(content, offset + _LZ4_HEADER.size, packed_bytes)
            offset += _LZ4_HEADER.size + packed_bytes
            if magic != b"LZ4Block" or not 0 <= whole_bytes <= 1 << (10 + (token & 0x0F)):
                raise _DamagedError(f"no block at byte {offset}")
            stored = token & 0xF0 == 0x10
            block = packed if stored or not packed else _lz4_block(codec, packed, whole_bytes)
            if len(block) != whole_bytes:
                raise _DamagedError(f"a block of {whole_bytes} bytes unpacks to {len(block)}")
            yield block

    return _joined(blocks())


def _lz4_block(codec: Any, packed: bytes, whole_bytes: int) -> bytes:
    buffer = bytearray(whole_bytes)
    filled = _checked(codec.decompress_block_into, packed, buffer)
    return bytes(buffer[:filled])


def _snappy(content: bytes) -> bytes:
    codec = import_module("cramjam").snappy

    def blocks() -> Iterator[bytes]:
        offset = 0
        while offset < len(content):
            if content.startswith(_SNAPPY_HEADER, offset):  # streams that were put one after another repeat it
                offset += len(_part(content, offset, 16))
                continue
            packed_bytes = int.from_bytes(_part(content, offset, 4), "big", signed=True)
            packed = _part(content, offset + 4, packed_bytes)
            offset += 4 + packed_bytes
            _limited(_whole_length(packed))
            yield bytes(_checked(codec.decompress_raw, packed))

    return _joined(blocks())


def _whole_length(packed: bytes) -> int:
    """Return the length that a Snappy block begins with: seven bits a byte, the lowest first."""
    length = 0
    for index, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return length
    raise _DamagedError("a block without its length")


def _zstd(content: bytes) -> bytes:
    """Decompress into a buffer, and into a larger one if it was too small: frames don't record their length."""
    codec = import_module("cramjam").zstd
    size = max(2**20, 32 * len(content))
    while True:
        buffer = bytearray(min(size, SIZE_MAX_BYTES))
        try:
            filled = codec.decompress_into(content, buffer)
        except Exception as error:
            if size >= SIZE_MAX_BYTES or "whole buffer" not in str(error):
                raise _DamagedError(f"{error!s:.100}") from error
            size *= 8
        else:
            return bytes(memoryview(buffer)[:filled])


def _lzf(content: bytes) -> bytes:
    def blocks() -> Iterator[bytes]:
        offset = 0
        while offset < len(content):
            header = _part(content, offset, 5)
            packed_bytes = int.from_bytes(header[3:5], "big")
            if header[:2] != b"ZV" or header[2] > 1:
                raise _DamagedError(f"no chunk at byte {offset}")
            if header[2] == 0:
                yield _part(content, offset + 5, packed_bytes)
                offset += 5 + packed_bytes
            else:
                whole_bytes = int.from_bytes(_part(content, offset + 5, 2), "big")
                yield _lzf_chunk(_part(content, offset + 7, packed_bytes), whole_bytes)
                offset += 7 + packed_bytes

    return _joined(blocks())


def _lzf_chunk(packed: bytes, whole_bytes: int) -> bytes:
    """Unpack one chunk: a control byte below 32 precedes that many literals and one; others refer back."""
    output = bytearray()
    offset = 0
    while offset < len(packed):
        control = packed[offset]
        offset += 1
        if control < 32:
            output += _part(packed, offset, control + 1)
            offset += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += _part(packed, offset, 1)[0]
            offset += 1
        length += 2
        begin = len(output) - ((control & 31) << 8) - _part(packed, offset, 1)[0] - 1
        offset += 1
        if begin < 0:
            raise _DamagedError("a chunk refers to what is before it")
        copied = output[begin : begin + length]
        while len(copied) < length:  # the copied bytes may overlap the output
            copied += copied[: length - len(copied)]
        output += copied
    if len(output) != whole_bytes:
        raise _DamagedError(f"a chunk of {whole_bytes} bytes unpacks to {len(output)}")
    return bytes(output)


_CODECS: Final[dict[str, tuple[bytes, Callable[[bytes], bytes]]]] = {
    "lz4": (b"LZ4Block", _lz4),
    "snappy": (_SNAPPY_HEADER, _snappy),
    "lzf": (b"ZV", _lzf),
    "zstd": (b"\x28\xb5\x2f\xfd", _zstd),
}
"""Codec to the first bytes of its files, and the function that decompresses them."""
