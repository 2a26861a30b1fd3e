"""Test host addresses: user, name or address, port."""

from __future__ import annotations

import pytest

from assay.model.clusters.host_address import HostAddress, parse_host_address


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("w1", HostAddress("w1")),
        ("w1:2222", HostAddress("w1", None, 2222)),
        ("alice@w1.rack", HostAddress("w1.rack", "alice")),
        ("alice@10.0.0.1:65535", HostAddress("10.0.0.1", "alice", 65_535)),
        ("2001:db8::1", HostAddress("2001:db8::1")),
        ("[2001:db8::1]", HostAddress("2001:db8::1")),
        ("alice@[2001:db8::1]:22", HostAddress("2001:db8::1", "alice", 22)),
        ("fe80::1%eth0", HostAddress("fe80::1%eth0")),
    ],
)
def test_a_host_has_its_parts(text: str, parts: HostAddress) -> None:
    assert parse_host_address(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "@w1",
            "a@b@w1",
            "w1:",
            "w1:0",
            "w1:65536",
            "w1:99999999999",
            "w1:-1",
            "w1:\u0662\u0662",
            "w 1",
            "w1:ssh",
        ),
        *("[w1]:22", "[::1", "::1]:22", "[::1]22", "[::1]:", "[::1]:65536", "[]:22", "2001:db8::1:2:3:4:5:6:7:8"),
    ],
)
def test_an_invalid_host_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_host_address(text)
