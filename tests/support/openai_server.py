"""A service on loopback that speaks the OpenAI chat-completions dialect and fails as told.

It lets the real clients run over a real wire without network or key:

    with OpenAIServer(answers('{"selected": []}')) as server:
        server.script(fails(429, retry_after=1))        # first call; then as above
        ChatOpenAI(base_url=server.base_url, api_key="none", model="any").invoke("hi")
        server.calls[0].prompt

A behaviour is a function from a `Call` to what goes back; the ones here can be combined.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

MODEL = "loopback-1"
_PIECE = 7  # characters of one streamed delta: small, so that clients must join


@dataclass(frozen=True, slots=True)
class Call:
    """One request for a completion.

    Attributes:
        body: The JSON that came.
        number: Calls before this one.
        authorization: The header, as it came.
    """

    body: dict[str, Any]
    number: int
    authorization: str | None = None

    @property
    def prompt(self) -> str:
        """The texts of all messages."""
        return "\n".join(_texts(self.body.get("messages", [])))

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer is to follow, when one was sent."""
        wanted = self.body.get("response_format") or {}
        return wanted.get("json_schema", {}).get("schema")

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to come in pieces."""
        return bool(self.body.get("stream"))


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer of the model."""

    content: str | None
    refusal: str | None = None
    finish_reason: str = "stop"
    reports_usage: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the service."""

    status: int
    code: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection breaks, before the answer or in the middle of it."""

    after: bytes = b""


@dataclass(frozen=True, slots=True)
class Raw:
    """A body that is no JSON, with status 200."""

    body: bytes = b'{"choices": [{"mess'


Outcome = Completion | Failure | Dropped | Raw
Behaviour = Callable[[Call], Outcome]


def answers(text: str | Callable[[Call], str], *, reports_usage: bool = True) -> Behaviour:
    """Answer with a text, or with what a function makes of the call."""
    return lambda call: Completion(
        text if isinstance(text, str) else text(call), reports_usage=reports_usage
    )


def refuses(text: str = "I can't help with that.") -> Behaviour:
    """Content null and a refusal, as structured outputs do it."""
    return lambda _: Completion(None, refusal=text)


def cut(text: str, n_chars: int) -> Behaviour:
    """The token limit cuts the text after `n_chars`."""
    return lambda _: Completion(text[:n_chars], finish_reason="length")


def filtered(text: str = "") -> Behaviour:
    """A filter stopped the answer after `text`."""
    return lambda _: Completion(text or None, finish_reason="content_filter")


def fails(
    status: int, code: str = "", *, retry_after: float | None = None, message: str = "No."
) -> Behaviour:
    """An error status, with Retry-After where given."""
    codes = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error"}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return lambda _: Failure(status, code or codes.get(status, "error"), message, headers)


def drops(after: bytes = b"") -> Behaviour:
    """Close the connection without an answer, or within one when `after` is a beginning of it."""
    return lambda _: Dropped(after)


def sends_no_json() -> Behaviour:
    """Status 200 and half a JSON."""
    return lambda _: Raw()


def waits(until: threading.Event, then: Behaviour, *, at_most: float = 5.0) -> Behaviour:
    """Answer when an event is set: slow without a clock."""

    def behave(call: Call) -> Outcome:
        until.wait(at_most)
        return then(call)

    return behave


def blocks(marked: str, otherwise: Behaviour) -> Behaviour:
    """Refuse every prompt that holds the marked text, as a content filter does."""
    refusal = fails(400, "content_filter", message="The prompt triggered the content policy.")
    return lambda call: (refusal if marked in call.prompt else otherwise)(call)


class OpenAIServer:
    """The service; a context manager.

    Attributes:
        calls: All calls so far, in order of arrival.
        max_in_flight: The most calls that were being answered at one time.
    """

    def __init__(self, behaviour: Behaviour, *, api_key: str | None = None) -> None:
        """Listen on a free port of the loopback interface.

        Args:
            behaviour: For every call that the script does not say otherwise about.
            api_key: When given, another key gets status 401.
        """
        self.calls: list[Call] = []
        self.max_in_flight = 0
        self._behaviour = behaviour
        self._api_key = api_key
        self._script: deque[Behaviour] = deque()
        self._in_flight = 0
        self._clients: list[httpx.Client] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"service": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """What clients take as base_url."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def http_client(self) -> httpx.Client:
        """A client that is closed with the server, for libraries that leave theirs to the garbage."""
        self._clients.append(httpx.Client())
        return self._clients[-1]

    def script(self, *behaviours: Behaviour) -> None:
        """Behave like this for the next calls, one each."""
        self._script.extend(behaviours)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, body: dict[str, Any], authorization: str | None) -> tuple[Call, Outcome]:
        """Note a call and decide on it."""
        with self._lock:
            call = Call(body, len(self.calls), authorization)
            self.calls.append(call)
            behaviour = self._script.popleft() if self._script else self._behaviour
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            if self._api_key is not None and authorization != f"Bearer {self._api_key}":
                return call, fails(401, message=f"Incorrect API key: {authorization}")(call)
            return call, behaviour(call)
        finally:
            with self._lock:
                self._in_flight -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away, as on a time-out, is no fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: OpenAIServer

    def log_message(self, format: str, *args: object) -> None:
        """Tests read `calls`."""

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._json(404, _error("not_found", f"Unknown path {self.path}."))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._json(404, _error("not_found", f"Unknown path {self.path}."))
            return
        call, outcome = self.service.answer(body, self.headers.get("Authorization"))
        match outcome:
            case Failure(status, code, message, headers):
                self._json(status, _error(code, message), headers)
            case Dropped(after):
                self._drop(after)
            case Raw(raw):
                self._send(200, raw)
            case Completion() if call.is_streamed:
                self._stream(_chunks(call, outcome))
            case Completion():
                self._json(200, _completion(call, outcome))

    def _json(
        self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        self._send(status, json.dumps(body).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, chunks: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _drop(self, after: bytes) -> None:
        if after:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n"
            self.wfile.write(head + after)
            self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, str):
            yield content
        else:
            yield from (block.get("text", "") for block in content)


def _usage(call: Call, completion: Completion) -> dict[str, int]:
    """Four characters a token: a rule that a test can check in the head."""
    n_input, n_output = len(call.prompt) // 4, len(completion.content or "") // 4
    return {
        "prompt_tokens": n_input,
        "completion_tokens": n_output,
        "total_tokens": n_input + n_output,
    }


def _completion(call: Call, completion: Completion) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": completion.content}
    if completion.refusal is not None:
        message["refusal"] = completion.refusal
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason}
    answer = _envelope(call, "chat.completion") | {"choices": [choice]}
    return answer | ({"usage": _usage(call, completion)} if completion.reports_usage else {})


def _chunks(call: Call, completion: Completion) -> Iterator[dict[str, Any]]:
    envelope = _envelope(call, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return envelope | {
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        }

    yield chunk({"role": "assistant", "content": None if completion.refusal else ""})
    for name, text in (("content", completion.content), ("refusal", completion.refusal)):
        for start in range(0, len(text or ""), _PIECE):
            yield chunk({name: (text or "")[start : start + _PIECE]})
    yield chunk({}, completion.finish_reason)
    if (call.body.get("stream_options") or {}).get("include_usage") and completion.reports_usage:
        yield envelope | {"choices": [], "usage": _usage(call, completion)}


def _envelope(call: Call, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{call.number}", "object": kind, "created": 0, "model": MODEL}


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "param": None, "code": code}}
