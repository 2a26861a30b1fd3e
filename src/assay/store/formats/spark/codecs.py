"""Decompress Spark event logs, with any of Spark's codecs.

In: a file's bytes. Out: the log's text as bytes; an uncompressed file is returned unchanged. The framings are the
stream formats of org.apache.spark.io.CompressionCodec: LZ4BlockOutputStream (``LZ4Block``, token, two lengths and
a checksum before each block, little-endian), SnappyOutputStream of snappy-java (a header of 16 bytes, then blocks that
follow their length, big-endian), LZFOutputStream (``ZV`` chunks), and Zstandard frames.

The package ``cramjam`` decompresses the blocks of LZ4, Snappy and Zstandard. If it is not installed, the file is
rejected and the message names the package. LZF is decompressed here because no well-maintained package does it.
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
    """Return the codec that compressed a file, from its first bytes; None for another codec or none."""
    return next((name for name, (magic, _) in _CODECS.items() if head.startswith(magic)), None)


def unpacked(content: bytes, name: str) -> bytes:
    """Decompress ``content``.

    Raises :class:`FormatError` if it is damaged or too large, or if the package that decompresses it is not installed.
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
    """Call a function of the library, and raise any of its errors as :class:`_DamagedError`."""
    try:
        return unpack(*given)
    except Exception as error:
        raise _DamagedError(f"{error!s:.100}") from error


def _joined(blocks: Iterator[bytes]) -> bytes:
    """Return the joined blocks. Raises :class:`_DamagedError` if they exceed the maximum size of a log."""
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
            if content.startswith(_SNAPPY_HEADER, offset):  # concatenated streams repeat the header
                offset += len(_part(content, offset, 16))
                continue
            packed_bytes = int.from_bytes(_part(content, offset, 4), "big", signed=True)
            packed = _part(content, offset + 4, packed_bytes)
            offset += 4 + packed_bytes
            _limited(_whole_length(packed))
            yield bytes(_checked(codec.decompress_raw, packed))

    return _joined(blocks())


def _whole_length(packed: bytes) -> int:
    """Return the uncompressed length that a Snappy block begins with: seven bits per byte, lowest first."""
    length = 0
    for index, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return length
    raise _DamagedError("a block without its length")


def _zstd(content: bytes) -> bytes:
    """Decompress into a buffer, and into a larger one if it was too small, because frames don't record their length."""
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
    """Decompress one chunk. A control byte n below 32 precedes n + 1 literals; others are back references."""
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
"""Codec to the first bytes of its files and its decompression function."""
