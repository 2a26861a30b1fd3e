"""Decompress Spark event logs as a stream, with any of Spark's codecs.

In: a file. Out: a file of the log's text; an uncompressed file is returned unchanged. Only one block is in memory. The
framings are the stream formats of org.apache.spark.io.CompressionCodec: LZ4BlockOutputStream (``LZ4Block``, token, two
lengths and a checksum before each block, little-endian), SnappyOutputStream of snappy-java (a header of 16 bytes, then
blocks that follow their length, big-endian), LZFOutputStream (``ZV`` chunks), and Zstandard frames.

The package ``cramjam`` decompresses the blocks of LZ4 and Snappy, and Python's Zstandard module (``backports.zstd``
before Python 3.14) the frames of Zstandard. If the package is not installed, the file is rejected and the message
names it. LZF is decompressed here because no well-maintained package does it.
"""

import io
import struct
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO, Final

from assay.foundation.errors import FormatError

BLOCK_MAX_BYTES: Final = 64 * 2**20
"""Maximum size of a block, compressed and decompressed. The largest block of LZ4 has 32 MiB."""
_ZSTD_WINDOW_LOG_MAX: Final = 27
"""Logarithm of the maximum window of Zstandard, 128 MiB: the limit of the reference decoder."""
_PIECE_BYTES: Final = 2**18
_ZSTD_MODULE: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_LZ4_HEADER: Final = struct.Struct("<8sBiii")
_SNAPPY_HEADER: Final = b"\x82SNAPPY\x00"
_DAMAGED: Final = "the packed log is damaged, cut off, or still written"


def codec_of(head: bytes) -> str | None:
    """Return the codec that compressed a file, from its first bytes; None for another codec or none."""
    return next((name for name, (magic, _) in _CODECS.items() if head.startswith(magic)), None)


def unpacked(file: BinaryIO, name: str) -> BinaryIO:
    """Return a file that decompresses ``file``, which must be seekable, while it is read.

    Reading raises :class:`FormatError` if the file is damaged, or if the package that decompresses it is not installed.
    """
    begin = file.tell()
    codec = codec_of(file.read(16))
    file.seek(begin)
    return file if codec is None else io.BufferedReader(_Unpacked(codec, file, name), _PIECE_BYTES)


class _Unpacked(io.RawIOBase):
    """The decompressed text of a file."""

    def __init__(self, codec: str, file: BinaryIO, name: str) -> None:
        self._blocks = _blocks(codec, file, name)
        self._block = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._block:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = memoryview(block)
        count = min(len(buffer), len(self._block))
        buffer[:count] = self._block[:count]
        self._block = self._block[count:]
        return count


def _blocks(codec: str, file: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        yield from _CODECS[codec][1](file)
    except _DamagedError as error:
        raise FormatError(f"{_DAMAGED} ({codec}: {error})", where=name) from error
    except ModuleNotFoundError as error:
        raise FormatError(
            f"is packed with {codec}, and the Python package {error.name!r} that unpacks it is not installed",
            where=name,
            hint=f"install {error.name}, or unpack the file first",
        ) from error


class _DamagedError(Exception):
    """The compressed bytes contradict their framing."""


def _call_library(unpack: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the library, and raise any of its errors as :class:`_DamagedError`."""
    try:
        return unpack(*arguments)
    except Exception as error:
        raise _DamagedError(f"{error!s:.100}") from error


def _part(file: BinaryIO, length: int) -> bytes:
    """Return the next ``length`` bytes of the file."""
    part = file.read(_check_size(length))
    if len(part) < length:
        raise _DamagedError("it ends within a block")
    return part


def _check_size(size_bytes: int) -> int:
    """Return the size of a block. Raises :class:`_DamagedError` if it is implausible."""
    if not 0 <= size_bytes <= BLOCK_MAX_BYTES:
        raise _DamagedError(f"a block of {size_bytes} bytes")
    return size_bytes


def _lz4(file: BinaryIO) -> Iterator[bytes]:
    codec = import_module("cramjam").lz4
    while header := file.read(_LZ4_HEADER.size):
        if len(header) < _LZ4_HEADER.size:
            raise _DamagedError("it ends within a header")
        magic, token, packed_bytes, unpacked_bytes, _ = _LZ4_HEADER.unpack(header)
        if magic != b"LZ4Block" or not 0 <= unpacked_bytes <= 1 << (10 + (token & 0x0F)):
            raise _DamagedError("a block without its header")
        packed = _part(file, packed_bytes)
        is_uncompressed = token & 0xF0 == 0x10
        block = packed if is_uncompressed or not packed else _lz4_block(codec, packed, unpacked_bytes)
        if len(block) != unpacked_bytes:
            raise _DamagedError(f"a block of {unpacked_bytes} bytes unpacks to {len(block)}")
        yield block


def _lz4_block(codec: Any, packed: bytes, unpacked_bytes: int) -> bytes:
    buffer = bytearray(unpacked_bytes)
    filled = _call_library(codec.decompress_block_into, packed, buffer)
    return bytes(buffer[:filled])


def _snappy(file: BinaryIO) -> Iterator[bytes]:
    codec = import_module("cramjam").snappy
    while begin := file.read(4):
        if begin == _SNAPPY_HEADER[:4]:  # concatenated streams repeat the header
            if _part(file, 12)[:4] != _SNAPPY_HEADER[4:]:
                raise _DamagedError("a stream without its header")
            continue
        if len(begin) < 4:
            raise _DamagedError("it ends within a block")
        packed = _part(file, int.from_bytes(begin, "big", signed=True))
        _check_size(_unpacked_length(packed))
        yield bytes(_call_library(codec.decompress_raw, packed))


def _unpacked_length(packed: bytes) -> int:
    """Return the uncompressed length, with which a Snappy block begins: seven bits per byte, lowest first."""
    length = 0
    for index, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return length
    raise _DamagedError("a block without its length")


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    zstd = import_module(_ZSTD_MODULE)
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG_MAX}
    zstd_file = _call_library(lambda: zstd.ZstdFile(file, options=options))
    while piece := _call_library(zstd_file.read, _PIECE_BYTES):
        yield piece


def _lzf(file: BinaryIO) -> Iterator[bytes]:
    while header := file.read(5):
        if len(header) < 5:
            raise _DamagedError("it ends within a header")
        if header[:2] != b"ZV" or header[2] > 1:
            raise _DamagedError("a chunk without its header")
        packed_bytes = int.from_bytes(header[3:5], "big")
        if header[2] == 0:
            yield _part(file, packed_bytes)
        else:
            unpacked_bytes = int.from_bytes(_part(file, 2), "big")
            yield _lzf_chunk(_part(file, packed_bytes), unpacked_bytes)


def _lzf_chunk(packed: bytes, unpacked_bytes: int) -> bytes:
    """Decompress one chunk. A control byte n below 32 precedes n + 1 literals; others are back references."""
    output = bytearray()
    offset = 0
    while offset < len(packed):
        control = packed[offset]
        offset += 1
        if control < 32:
            output += _slice(packed, offset, control + 1)
            offset += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += _slice(packed, offset, 1)[0]
            offset += 1
        length += 2
        begin = len(output) - ((control & 31) << 8) - _slice(packed, offset, 1)[0] - 1
        offset += 1
        if begin < 0:
            raise _DamagedError("a chunk refers to bytes before its start")
        copied = output[begin : begin + length]
        while len(copied) < length:  # the copied bytes may overlap the output
            copied += copied[: length - len(copied)]
        output += copied
    if len(output) != unpacked_bytes:
        raise _DamagedError(f"a chunk of {unpacked_bytes} bytes unpacks to {len(output)}")
    return bytes(output)


def _slice(packed: bytes, begin: int, length: int) -> bytes:
    if begin + length > len(packed):
        raise _DamagedError("a chunk that ends within its block")
    return packed[begin : begin + length]


_CODECS: Final[dict[str, tuple[bytes, Callable[[BinaryIO], Iterator[bytes]]]]] = {
    "lz4": (b"LZ4Block", _lz4),
    "snappy": (_SNAPPY_HEADER, _snappy),
    "lzf": (b"ZV", _lzf),
    "zstd": (b"\x28\xb5\x2f\xfd", _zstd),
}
"""Codec to the first bytes of its files and its decompression function."""
