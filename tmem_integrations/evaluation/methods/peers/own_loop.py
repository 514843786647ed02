"""An event loop in a thread of its own, so that a peer with an async client can be asked from anywhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OwnLoop:
    """Runs coroutines one after the other, also where another loop runs already, as in a notebook."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """The result, waited for.

        Examples:
            >>> loop = OwnLoop()
            >>> loop.run(asyncio.sleep(0, "done"))
            'done'
            >>> loop.close()
        """
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
