"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("assay", deadline=None)  # a busy machine is slow, and that is no failure
settings.load_profile("assay")
