"""A small chat with questions, written for these tests."""

CHAT = [
    {"id": "r1", "text": "Release is planned for Friday.", "timestamp": "2026-03-02T09:00:00",
     "author": "Ann", "channel": "release"},
    {"id": "r2", "text": "Tests are red, so the release moves to Monday.",
     "timestamp": "2026-03-02T10:00:00", "author": "Bo", "channel": "release"},
    {"id": "r3", "text": "Fine with me.", "timestamp": "2026-03-02T10:05:00", "author": "Ann",
     "channel": "release"},
    {"id": "l1", "text": "Lunch is soup on Friday.", "timestamp": "2026-03-02T11:00:00",
     "author": "Cy", "channel": "lunch"},
    {"id": "l2", "text": "Soup is off, we get rice.", "timestamp": "2026-03-02T11:30:00",
     "author": "Cy", "channel": "lunch"},
]  # fmt: skip
QUESTIONS = [
    {"id": "q1", "question": "When is the release?", "channel": "release", "kind": "when",
     "answer": "Monday", "evidence": ["r1", "r2"]},
    {"id": "q2", "question": "Which soup is for lunch?", "channel": "lunch", "kind": "what",
     "asking_user": "Cy", "as_of": "2026-03-02T11:10:00", "evidence": ["l1"]},
]  # fmt: skip
