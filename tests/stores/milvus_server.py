"""A Milvus server on loopback that can go away and come back."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PATIENCE = 60.0


class MilvusServer:
    """milvus-lite over a folder in a process of its own, on a port that it keeps."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Return when it answers."""
        arguments = ["server", "--data-dir", str(self.folder), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "milvus_lite", *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ),
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while not self.is_up():
            assert self.process.poll() is None, "the server has stopped"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """Gone before the next call."""
        self.process.kill()
        self.process.wait()

    def kill_within_a_call(self) -> None:
        """It takes the next call and does not live to answer it."""
        self.process.send_signal(signal.SIGSTOP)
        threading.Timer(0.5, self.kill).start()

    def is_up(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
