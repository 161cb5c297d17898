"""Settings of hypothesis for all tests: the same examples every time, no deadline, nothing written."""

from hypothesis import settings

settings.register_profile("saccade", derandomize=True, deadline=None, database=None)
settings.load_profile("saccade")
