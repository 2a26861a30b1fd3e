"""The origin of a number: measured, simulated, predicted or published."""

from enum import StrEnum


class Origin(StrEnum):
    """Origin of a number; origins are never mixed and always shown."""

    MEASURED = "measured"
    """Observed on the hosts of a real cluster or a lab."""
    SIMULATED = "simulated"
    """Computed by the simulator."""
    PREDICTED = "predicted"
    """Computed by a prediction model."""
    PUBLISHED = "published"
    """Taken from a publication, without the run's own records."""
