"""Define a configuration: one level for each factor of a plan, with the layout, network and engine parameters."""

from dataclasses import dataclass

from assay.model.clusters.layout import Layout


@dataclass(frozen=True, slots=True)
class Configuration:
    """One level for each factor, with the resulting parameters."""

    levels: dict[str, str]
    layout: Layout
    parameters: dict[str, str]
    """Engine parameters of the plan, overridden by the parameters of the factors."""
    network: str | None = None
    """Name of a network of the cluster, or in a lab a link rate such as ``1Gbit/s``; None: the cluster's default."""
    workers: int | None = None
    """Number of workers in use, counted from the first; None: all."""
    engine: str = ""
    """The engine that runs the workloads if the plan varies it; empty: the engine of the plan."""

    @property
    def key(self) -> str:
        """Factors and levels in the plan's order, for example ``layout=HD2 dfs.blocksize=64MB``."""
        return " ".join(f"{name}={level}" for name, level in self.levels.items())
