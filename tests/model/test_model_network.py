"""Test the kind of a network that only its name tells."""

import pytest

from assay.model import NetworkKind, network_kind_of_name
from assay.text.codes import network_text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("IB", NetworkKind.INFINIBAND),
        ("ib-fdr", NetworkKind.INFINIBAND),
        ("InfiniBand", NetworkKind.INFINIBAND),
        ("ETH", NetworkKind.ETHERNET),
        ("ETH10", NetworkKind.ETHERNET),
        ("ethernet", NetworkKind.ETHERNET),
        ("25Gbit/s", None),
        ("rack", None),
    ],
)
def test_the_beginning_of_a_name_states_the_kind_of_a_network(name: str, kind: NetworkKind | None) -> None:
    assert network_kind_of_name(name) is kind


def test_only_short_names_of_networks_are_replaced_by_words() -> None:
    assert [network_text(name) for name in ("ETH", "IB", "IB-FDR")] == ["Ethernet", "InfiniBand", "IB-FDR"]
