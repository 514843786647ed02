"""A killed writer leaves a folder that can be opened, and running the writes again makes it whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "kill_writers.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_twenty_killed_writers_leave_exactly_the_right_messages() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--rounds", "20", "--seed", "1"],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert "20 rounds, 0 failed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
