"""The engines that assay has, by name. Nothing registers itself: who needs one asks here, or brings one of its own."""

from __future__ import annotations

from assay.engines.contract import Rules
from assay.engines.hadoop.rules import HadoopRules
from assay.errors import SpecificationError
from assay.spec.fields import unknown


def engine_rules(name: str) -> Rules:
    """Return the rules of the engine that a plan means by ``name``.

    Raises SpecificationError, naming those that there are, for one that there is not.
    """
    known: dict[str, Rules] = {"hadoop": HadoopRules()}
    if name not in known:
        raise SpecificationError(unknown("engine", name, known))
    return known[name]
