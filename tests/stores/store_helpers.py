"""Small messages and questions for tests of stores."""

from datetime import UTC, datetime, timedelta

import numpy as np

from tmem_integrations.messages import Message, Query, Scope

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def said(message_id, text="hello", minute=0.0, **known):
    """A message some minutes after the start."""
    return Message(id=message_id, text=text, sent_at=START + timedelta(minutes=minute), **known)


def found(store, question, **filters):
    """Ids that the words of a question find."""
    view = store.view(Scope(Query.create(question, **filters)))
    return sorted(m.id for m in view.load(view.search(question).rows) if m is not None)


def at(minute):
    """Minutes after the start in POSIX seconds."""
    return (START + timedelta(minutes=minute)).timestamp()


def in_window(store, partition, start, end, scope=None):
    """Ids of a window, in order."""
    view = store.view(scope or Scope())
    return [m.id for m in view.load(view.window(partition, start, end)) if m is not None]


def row_of(view, word):
    """The one row that a word finds."""
    (row,) = view.search(word).rows.tolist()
    return row


def unit(*rows):
    """Vectors as a store takes them."""
    return np.array(rows, dtype=np.float32)


def vectors_in(store, *ids, as_of=None):
    """Vectors of the messages of now or then that there are, in order."""
    view = store.view(Scope(Query.create("x", as_of=as_of)))
    return view.vectors(view.rows_of(ids))
