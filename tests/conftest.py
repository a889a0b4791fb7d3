"""Hypothesis profiles: `ci` is small and always the same, `long` (HYPOTHESIS_PROFILE=long) is for a night."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# ONNX Runtime's thread that reports home can crash the process (onnxruntime#32173): told before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# So does OpenVINO, from a process that it forks, about which JAX warns if its threads run already.
os.environ.setdefault("CI", "true")

# Slow machines and instrumented builds must not fail on time; the draws are large by design.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("ci", max_examples=60, derandomize=True, database=None, **_COMMON)
settings.register_profile("long", max_examples=5000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
