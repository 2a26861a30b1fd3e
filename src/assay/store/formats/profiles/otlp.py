"""Read stacks with the time of each sample from OpenTelemetry's profiles, as async-profiler's converter writes them.

In: a message ``ProfilesData`` of Protocol Buffers (``profiles/v1development/profiles.proto`` of
github.com/open-telemetry/opentelemetry-proto). Out: the distinct stacks with the times and the counts of their samples.
A sample without values counts one.
"""

import struct
from collections.abc import Iterator

from assay.analysis.code_profile.seconds import StackSamples
from assay.foundation.errors import FormatError
from assay.store.formats.protobuf import Fields

_NS_BYTES = 8


def timed_stacks(content: bytes) -> list[StackSamples]:
    """Return the stacks of the first kind of sample. Raises FormatError if it is damaged."""
    message = Fields(content)
    samples: list[StackSamples] = []
    try:
        stacks = _stacks(Fields(message.content(2)))
        for resource in message.contents(1):
            for scope in Fields(resource).contents(2):
                profile = next(iter(Fields(scope).contents(2)), b"")
                samples += _samples(Fields(profile), stacks)
    except (IndexError, struct.error) as error:
        raise FormatError("a profile refers to a text, a frame or a stack that it does not contain") from error
    return samples


def _samples(profile: Fields, stacks: list[tuple[str, ...]]) -> Iterator[StackSamples]:
    for content in profile.contents(2):
        sample = Fields(content)
        times = sample.content(5)
        times_ns = struct.unpack(f"<{len(times) // _NS_BYTES}Q", times)
        counts = tuple(sample.numbers(4)) or (1,) * len(times_ns)
        yield StackSamples(stacks[sample.number(1)], times_ns, counts)


def _stacks(dictionary: Fields) -> list[tuple[str, ...]]:
    """Return the dictionary's stacks with the names of their frames, from the root to the executing method."""
    texts = [text.decode("utf-8", "replace") for text in dictionary.contents(5)]
    functions = [texts[Fields(function).number(1)] for function in dictionary.contents(3)]
    locations = [functions[Fields(Fields(location).content(3)).number(1)] for location in dictionary.contents(2)]
    return [tuple(locations[index] for index in reversed(Fields(stack).numbers(1))) for stack in dictionary.contents(7)]
