"""Settings for all tests: no deadline for single examples, since machines differ."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "schedopt", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("schedopt")
