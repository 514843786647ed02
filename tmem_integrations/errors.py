"""Every error this package raises on purpose.

TmemError
├── InputError (ValueError)        the caller can mend it
│   ├── ConfigError                a setting out of its range
│   ├── MessageError               a message that cannot be read
│   ├── QueryError                 a question or filter that makes no sense
│   ├── AccessError                who asks is unknown, or may not
│   ├── BudgetError                the token budget cannot hold the evidence
│   ├── ImportFormatError          a file that is not what it was read as
│   └── TextFormatError            a text that is no linearized forest
├── StoreError                     the store cannot do what was asked
│   ├── StoreLockedError           another process writes to it
│   ├── StoreMismatchError (ValueError)   built with another model, dimension or schema
│   └── IngestError                some messages were stored and some not; says which
├── ModelError                     a language or embedding model failed
└── MissingExtraError (ImportError)       an optional package is not installed

A message says what was expected, what came, where, and the way out.
"""


class TmemError(Exception):
    """Base of all errors of this package."""


class InputError(TmemError, ValueError):
    """The caller's input is wrong and nothing was changed."""


class ConfigError(InputError):
    """A setting is out of its range."""


class MessageError(InputError):
    """A message cannot be read; names its id."""


class QueryError(InputError):
    """A question or one of its filters makes no sense."""


class AccessError(InputError):
    """Access control is on and the asker is unknown or not allowed."""


class BudgetError(InputError):
    """The evidence does not fit the token budget and the policy is to raise."""


class ImportFormatError(InputError):
    """A file is not in the format it was read as; names file and place."""


class TextFormatError(InputError):
    """A text is not a linearized forest; names the line."""


class StoreError(TmemError):
    """The store cannot do what was asked."""


class StoreLockedError(StoreError):
    """Another process has the store open for writing."""


class StoreMismatchError(StoreError, ValueError):
    """The store was built with another model, dimension or schema."""


class IngestError(StoreError):
    """Ingest stopped part-way.

    Attributes:
        stored: Ids that are in the store; running the same ingest again adds the rest once.
    """

    def __init__(self, message: str, *, stored: tuple[str, ...]) -> None:
        super().__init__(message)
        self.stored = stored


class ModelError(TmemError):
    """A language or embedding model failed and the policy is to raise."""


class MissingExtraError(TmemError, ImportError):
    """An optional package is not installed; the message has the pip line."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f'pip install "tmem-integrations[{extra}]"'
        )
