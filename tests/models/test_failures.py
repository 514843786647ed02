"""Failures: what can be done about an exception, and how long to wait."""

import httpx
import pytest

from tmem_integrations.models.failures import (
    classify_blank,
    classify_error,
    describe_error,
    is_refused_request,
    reply_from_error,
    retry_after_seconds,
)


class ServiceError(Exception):
    """As clients raise it: with a status, a body and the response."""

    def __init__(self, status=None, body=None, headers=None, message="secret prompt"):
        super().__init__(message)
        self.status_code = status
        self.body = body
        self.code = (body or {}).get("code")
        self.response = httpx.Response(status or 500, headers=headers or {})


def rate_limited(**headers):
    return ServiceError(429, headers={name.replace("_", "-"): v for name, v in headers.items()})


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_busy_or_broken_service_may_pass(status):
    assert classify_error(ServiceError(status)) == "transient"


@pytest.mark.parametrize(
    "error",
    [TimeoutError(), ConnectionResetError(), ConnectionRefusedError(),
     httpx.ReadTimeout("x"), httpx.ConnectError("x"), httpx.RemoteProtocolError("x")],
)  # fmt: skip
def test_a_fault_of_the_connection_may_pass(error):
    assert classify_error(error) == "transient"


@pytest.mark.parametrize(
    "error",
    [ServiceError(401), ServiceError(403), ServiceError(404), ServiceError(400), ServiceError(422),
     ServiceError(429, {"code": "insufficient_quota"}), TypeError("x"), KeyError("x")],
)  # fmt: skip
def test_a_wrong_key_request_or_program_stays(error):
    assert classify_error(error) == "permanent"


@pytest.mark.parametrize(
    "error",
    [
        ServiceError(400, {"code": "content_filter"}),
        ServiceError(400, {"innererror": {"code": "ResponsibleAIPolicyViolation"}}),
        ServiceError(400, {"code": "context_length_exceeded"}),
        ServiceError(400, {"type": "exceed_context_size_error"}),
        ServiceError(400, message="This model's maximum context length is 8192 tokens"),
        ServiceError(413),
        ValueError({"code": "content_filter", "message": "x"}),
        type("ContentFilterFinishReasonError", (Exception,), {})(),
    ],
)
def test_a_refusal_of_this_very_prompt_is_of_its_content(error):
    assert classify_error(error) == "content"


def test_the_cause_of_an_error_counts():
    error = RuntimeError("wrapped")
    error.__cause__ = rate_limited(retry_after="3")
    assert (classify_error(error), retry_after_seconds(error)) == ("transient", 3.0)


@pytest.mark.parametrize(
    ("finish_reason", "refusal", "failure"),
    [("stop", None, "transient"), (None, None, "transient"), ("content_filter", None, "content"),
     ("length", None, "content"), ("SAFETY", None, "content"), ("stop", "I cannot", "content")],
)  # fmt: skip
def test_an_answer_without_text_is_classified_by_why(finish_reason, refusal, failure):
    assert classify_blank(finish_reason, refusal) == failure


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"Retry_After": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "9"}, 250 / 1000),
        ({"retry_after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 100.0 - 40.0),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry_after": "-5"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers, seconds):
    assert retry_after_seconds(rate_limited(**headers), now=40.0) == seconds


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("Please try again in 350ms.", 350 / 1000),
        ("please retry in 7.25s", 7.25),
        ("try again in 6m0s", 6 * 60.0),
        ("'retryDelay': '12s'", 12.0),
        ("try again later", None),
    ],
)
def test_the_wait_is_read_from_the_message_when_no_header_has_it(message, seconds):
    assert retry_after_seconds(RuntimeError(message)) == seconds


def test_a_failed_call_says_what_failed_and_nothing_of_the_prompt():
    error = ServiceError(429, {"code": "rate_limit_exceeded"}, {"retry-after": "2"})
    reply = reply_from_error(error)
    assert reply.error == "ServiceError (429 rate_limit_exceeded)"
    assert (reply.text, reply.failure, reply.retry_after) == ("", "transient", 2.0)


def test_a_code_that_is_a_sentence_is_not_repeated():
    assert describe_error(ServiceError(400, {"code": "key sk-1 is bad"})) == "ServiceError (400)"


class AnsweredError(Exception):
    def __init__(self, status, code=None):
        super().__init__("no")
        self.status_code, self.code = status, code


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (AnsweredError(400), True),
        (AnsweredError(404), True),
        (AnsweredError(422), True),
        (AnsweredError(501), True),
        (NotImplementedError(), True),
        (TypeError(), True),
        (AnsweredError(400, "content_filter"), False),
        (AnsweredError(401), False),
        (AnsweredError(429), False),
        (AnsweredError(500), False),
        (TimeoutError(), False),
    ],
)
def test_a_call_of_a_form_that_is_not_taken_is_told_from_one_that_failed(error, refused):
    assert is_refused_request(error) is refused
