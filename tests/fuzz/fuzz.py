"""Fuzz one target with inputs that reach new code (atheris).

usage: python tests/fuzz/fuzz.py TARGET [FOLDER] [-max_total_time=3600] [-seed=1] …

New inputs are kept in FOLDER, which begins with the committed corpus; what comes after are options of
libFuzzer. An input that breaks a target is written as crash-* to the current folder, or where
-artifact_prefix says.
"""

from __future__ import annotations

import sys
from pathlib import Path

OF_JSON = ("slack", "discord", "telegram", "teams", "jsonl")


def main() -> None:
    # Here, since whoever collects tests imports this file as well.
    import atheris

    with atheris.instrument_imports(include=["tmem_integrations"]):
        from targets import CORPUS, PART, TARGETS
    from json_mutator import mutate_json

    arguments = sys.argv[1:]
    if not arguments or arguments[0] not in TARGETS:
        raise SystemExit(f"{__doc__}\nTARGET is one of {', '.join(TARGETS)}.")
    name, *rest = arguments
    folders = [one for one in rest if not one.startswith("-")]
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)
    options = [one for one in rest if one.startswith("-")]
    separator = b"\n" if name == "jsonl" else PART

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        """As JSON every other time, where it is some."""
        changed = mutate_json(bytes(data), seed, separator=separator) if seed % 2 else None
        if changed is None or len(changed) > max_size:
            return bytes(atheris.Mutate(data, max_size))
        return changed

    atheris.Setup(
        [sys.argv[0], *options, *folders, str(CORPUS / name)],
        TARGETS[name],
        custom_mutator=mutate if name in OF_JSON else None,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
