"""Every input of the corpus is fine, and a fuzzer that starts from it finds nothing in a few thousand runs."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.targets import CORPUS, TARGETS

INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_of_the_corpus_raises_nothing(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    assert {path.parent.name for path in INPUTS} == set(TARGETS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris")
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_fuzzer_finds_nothing_in_its_first_runs(name: str, tmp_path: Path) -> None:
    """About a minute for all; where it finds something, the file that breaks the target is named."""
    options = [
        str(tmp_path),
        "-runs=2000",
        "-seed=1",
        "-timeout=20",
        f"-artifact_prefix={tmp_path}/",
    ]
    script = Path(__file__).with_name("fuzz.py")
    done = subprocess.run(
        [sys.executable, str(script), name, *options],
        capture_output=True,
        text=True,
        timeout=200,
        # The same runs each time; and a fuzzer ends without cleaning up.
        env={**os.environ, "PYTHONHASHSEED": "0", "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
