"""A factor of a plan with its levels, and the names of the factors that every engine has."""

from dataclasses import dataclass, field

LAYOUT_FACTOR = "layout"
ENGINE_FACTOR = "engine"
WORKLOAD = "workload"
"""Key of the workload in ``only``."""
NETWORK_FACTOR = "network"
WORKERS_FACTOR = "workers"


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a plan.

    ``layout``, ``engine``, ``network``, ``workers``, ``containers``, ``compression``, an engine parameter
    (``dfs.blocksize``), ``WORKLOAD.parameter``, or several of these joined under one name.
    """

    name: str
    levels: tuple[str, ...]
    """Values of the factor, as text."""
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """For a joined factor: level to its settings. Empty: the level is the value of the factor."""
