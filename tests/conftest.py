"""For all tests: examples that hypothesis makes are not timed."""

from hypothesis import settings

settings.register_profile("dampen", deadline=None)
settings.load_profile("dampen")
