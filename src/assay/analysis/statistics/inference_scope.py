"""Define the inference scope of an interval: the settings and clusters that it covers."""

from enum import StrEnum


class InferenceScope(StrEnum):
    """The settings and clusters that an interval covers."""

    TESTED = "tested_settings"
    SIMILAR = "similar_settings"
    """Similar settings on the same clusters."""
    OTHER_CLUSTERS = "other_clusters"
    OTHER_DEPLOYMENTS = "other_deployments"
