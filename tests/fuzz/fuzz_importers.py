"""Feed the importers with bytes that a coverage-guided fuzzer finds (atheris, not a dependency).

usage: pip install atheris; python tests/fuzz/fuzz_importers.py CORPUS_FOLDER -max_total_time=3600

The first byte of an input chooses the importer, the rest is the file. Whatever it holds must give messages
or an `InputError`. The corpus grows in the folder; an input that breaks this is written as crash-*.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tmem_integrations.errors import InputError

SEEDS = {
    "csv": b"id,text,timestamp\nm1,hi,2026-03-02T09:00:00Z\n",
    "discord": b'{"guild":{"id":"1","name":"g"},"channel":{"id":"2","name":"c"},"messages":[{"id":"3",'
    b'"timestamp":"2026-03-02T09:00:00Z","content":"<@4>","author":{"id":"4","name":"a"}}]}',
    "irc": b"--- Log opened Mon Mar 02 09:00:00 2026\n09:00 <ann> hi\n09:01 -!- bo has joined\n",
    "jsonl": b'{"id":"m1","text":"hi","timestamp":"2026-03-02T09:00:00Z"}\n',
    "mbox": b"From a Mon Mar  2 09:00:00 2026\nFrom: =?utf-8?q?A?= <a@x>\nMessage-ID: <1@x>\nMIME-Version: 1.0\n"
    b"Date: Mon, 2 Mar 2026 09:00:00 +0000\nContent-Type: text/html\n\n<p>hi</p>\n",
    "teams": b'{"value":[{"id":"1","messageType":"message","createdDateTime":"2026-03-02T09:00:00Z",'
    b'"body":{"contentType":"html","content":"<p>hi <at>Bo</at></p>"}}]}',
    "telegram": b'{"name":"T","type":"private_group","id":1,"messages":[{"id":2,"type":"message",'
    b'"date":"2026-03-02T09:00:00","from":"A","text":["x",{"type":"link","text":"y"}]}]}',
    "whatsapp": b"28/02/2026, 21:15 - Ann: hi\nthere\n[28/02/2026, 21:16:01] Bo: <attached: x.pdf>\n",
}  # fmt: skip


NAMES = sorted(SEEDS)


def read(data: bytes) -> None:
    """One input."""
    from tmem_integrations.importers import IMPORTERS, ImportOptions, detect, read_file

    if not data:
        return
    name = NAMES[data[0] % len(NAMES)]
    options = ImportOptions(
        timezone="Europe/Berlin" if "timezone" in IMPORTERS[name].options else None,
        skip_bad=bool(data[0] & 128),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "2026-03-02.log"
        path.write_bytes(data[1:])

        def read_it() -> None:
            list(read_file(path, format=name, options=options))

        def detect_it() -> None:
            detect(path)

        for work in (read_it, detect_it):
            try:
                work()
            except InputError:
                continue


def main() -> None:
    import atheris  # here, so that test runs without it can import this file

    with atheris.instrument_imports(include=["tmem_integrations.importers"]):
        import tmem_integrations.importers  # noqa: F401  # instrumented while it is loaded
    folders = [Path(one) for one in sys.argv[1:] if not one.startswith("-")]
    for folder in folders[:1]:
        folder.mkdir(parents=True, exist_ok=True)
        for name, seed in SEEDS.items():
            (folder / f"seed-{name}").write_bytes(bytes([NAMES.index(name)]) + seed)
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
