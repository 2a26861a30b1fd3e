"""The origin of a number: measured, simulated, predicted or published."""

from enum import StrEnum


class Origin(StrEnum):
    """Origin of a number; origins are never mixed and always shown."""

    MEASURED = "measured"
    SIMULATED = "simulated"
    PREDICTED = "predicted"
    PUBLISHED = "published"
