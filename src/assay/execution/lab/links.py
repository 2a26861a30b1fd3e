"""Change the rates of a running lab's links, read them back, and restore them.

In: the lab's facts and directory, and rates in bits/s after scaling. Out: the rate of every node's link as the kernel
reports it. A file ``links.json`` in the lab's directory exists while links have changed rates. If assay dies, the next
process that uses the lab finds the file and restores the rates.
"""

import ipaddress
import json
from collections.abc import Mapping
from pathlib import Path

from assay.execution.lab.commands import parallel, run
from assay.execution.lab.network import NODE_INTERFACE, LabNetwork, shaping
from assay.foundation.errors import LabError
from assay.model import LabFacts

CHANGED_RATES_FILE = "links.json"
TOLERANCE = 0.01
"""Maximum relative rounding of a rate by the kernel."""


class LabLinks:
    """The links between a lab's nodes and its switch."""

    def __init__(self, facts: LabFacts, directory: Path) -> None:
        self._changed_rates_file = directory / CHANGED_RATES_FILE
        self._network = LabNetwork(
            facts.name,
            ipaddress.IPv4Network(facts.subnet),
            {name: node.address for name, node in facts.nodes.items()},
            {name: node.link_bits_per_s for name, node in facts.nodes.items()},
        )

    def shape(self, rate_bits_per_s: float | None) -> dict[str, float]:
        """Set every link to ``rate_bits_per_s`` (None: its rate in the lab's facts), and return the rates by node name.

        Raises LabError if the kernel can't shape links, or reports another rate.
        """
        planned_rates = self._network.rates_bits_per_s
        if rate_bits_per_s is None:
            if self._changed_rates_file.exists():
                self._apply(planned_rates)
                self._changed_rates_file.unlink()
            return dict(planned_rates)
        rates = dict.fromkeys(planned_rates, rate_bits_per_s)
        self._changed_rates_file.write_text(json.dumps({"link_bits_per_s": rate_bits_per_s}))
        self._apply(rates)
        return self._check_rates(rates)

    def _apply(self, rates: Mapping[str, float]) -> None:
        numbered_rates = list(enumerate(rates.items()))
        lines = [f"qdisc replace dev port{number} root {shaping(rate)}\n" for number, (_, rate) in numbered_rates]
        run(["tc", "-n", self._network.switch, "-batch", "-"], stdin="".join(lines))
        parallel(
            lambda item: run(
                [
                    "tc",
                    "-n",
                    self._network.namespace(item[0]),
                    "qdisc",
                    "replace",
                    "dev",
                    NODE_INTERFACE,
                    "root",
                    *shaping(item[1]).split(),
                ]
            ),
            rates.items(),
        )

    def _check_rates(self, rates: Mapping[str, float]) -> dict[str, float]:
        ports = _rates(self._network.switch)
        checked_rates = {}
        for number, (node, expected_rate) in enumerate(rates.items()):
            end_rates = (_rates(self._network.namespace(node)).get(NODE_INTERFACE), ports.get(f"port{number}"))
            for rate in end_rates:
                if rate is None or abs(rate / expected_rate - 1) > TOLERANCE:
                    raise LabError(
                        f"the link of {node} should have {expected_rate:g} bit/s, but the kernel reports {rate}",
                        where=self._network.lab,
                        hint="see: tc -n NAMESPACE qdisc show",
                    )
            checked_rates[node] = min(rate for rate in end_rates if rate is not None)
        return checked_rates


def _rates(namespace: str) -> dict[str, float]:
    """Return interface to rate in bits/s, of interfaces with a token bucket in ``namespace``."""
    qdiscs = json.loads(run(["tc", "-j", "-n", namespace, "qdisc", "show"]) or "[]")
    return {entry["dev"]: float(entry["options"]["rate"]) * 8 for entry in qdiscs if entry.get("kind") == "tbf"}
