"""`run.json`: what was run, with all that could change its figures."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ConfigError, StoreMismatchError
from tmem_integrations.evaluation.methods.base import Method
from tmem_integrations.evaluation.prompts import prompt_hashes
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.records import read_json

FORMAT = 1
_PACKAGES = (
    "tmem-integrations", "numpy", "scipy", "scikit-learn", "rank-bm25", "chromadb", "tiktoken",
    "wordllama", "langchain-core", "llama-index-core", "mem0ai", "graphiti-core", "kuzu",
    "hindsight-client",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContract:
    """The conditions of a run. A run goes on only under the same ones.

    Attributes:
        data: Name of the data set.
        data_hash: Of all messages, questions and gold.
        questions: How many are asked: the first ones, or all.
        method: Name.
        settings: Of the method.
        memory_model: Judges evidence and links within the method; None goes by rules.
        structure: "forest" as the method makes it, "untyped" without UPDATE and EXPAND, or "flat".
        compression: "omit" leaves out spans (TEF §4.4); "truncate" cuts the text at its end.
        max_messages: N.
        max_tokens: B, of the text.
        model: Answers; None stops the run before the answers.
        judge: Judges; None judges by patterns where the gold has them.
        prompts: Name of each prompt to its hash.
        seed: Of all that is drawn by chance.
        versions: Package to version.
        format: Of the folder.
    """

    data: str
    data_hash: str
    questions: int
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    memory_model: str | None = None
    structure: str
    compression: str = "omit"
    max_messages: int
    max_tokens: int
    model: str | None
    judge: str | None
    prompts: Mapping[str, str]
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=lambda: _installed_versions())
    format: int = FORMAT

    def __post_init__(self) -> None:
        if self.structure not in ("forest", "untyped", "flat"):
            raise ConfigError(f"structure must be forest, untyped or flat, got {self.structure!r}.")
        if self.compression not in ("omit", "truncate"):
            raise ConfigError(f"compression must be omit or truncate, got {self.compression!r}.")
        for name in ("questions", "max_messages", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")


def contract_of(dataset: Dataset, method: Method, **conditions: Any) -> RunContract:
    """The contract of a run that is to begin.

    Args:
        dataset: What is asked.
        method: What retrieves.
        **conditions: The other attributes of `RunContract`; all questions are asked when none says less.
    """
    return RunContract(
        data=dataset.name,
        data_hash=hash_dataset(dataset),
        method=method.name,
        settings=settings_of(method),
        prompts=prompt_hashes(),
        **{"questions": len(dataset.questions), **conditions},
    )


def _installed_versions() -> dict[str, str]:
    """Python and the packages that figures depend on; those not installed are left out."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def settings_of(method: Method) -> dict[str, Any]:
    """The settings of a method that has any, as JSON values."""
    config = getattr(method, "config", None)
    if config is None:
        return {}
    settings: dict[str, Any] = json.loads(json.dumps(asdict(config), default=str))
    return settings


def hash_dataset(dataset: Dataset) -> str:
    """SHA-256 over all that is asked of, asked and expected, in order."""
    digest = hashlib.sha256()
    for message in dataset.messages:
        digest.update(json.dumps(message.to_dict(), sort_keys=True).encode())
    for question in dataset.questions:
        gold = dataset.gold[question.id]
        expected = (gold.answer, [sorted(unit) for unit in gold.evidence], gold.must_include)
        rest = (gold.must_not_include, gold.leak_targets, gold.expected_action)
        digest.update(json.dumps([asdict(question), expected, rest], default=str).encode())
    return digest.hexdigest()


def open_run(folder: Path, contract: RunContract) -> None:
    """Begin a run in a folder, or make sure that the one in it is the same.

    Raises:
        StoreMismatchError: If another run is in the folder; names what differs.
        ImportFormatError: If its run.json cannot be read.
    """
    path = folder / "run.json"
    wanted = json.loads(json.dumps(asdict(contract)))
    if path.exists():
        _check_same(folder, read_json(path), wanted)
        return
    folder.mkdir(parents=True, exist_ok=True)
    record = {**wanted, "created_at": datetime.now(UTC).isoformat(timespec="seconds")}
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_run(folder: Path) -> RunContract:
    """The contract of a run.

    Raises:
        ImportFormatError: If there is none.
        StoreMismatchError: If it was written in another format.
    """
    record = read_json(folder / "run.json")
    known = {f.name for f in fields(RunContract)}
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoreMismatchError(f"{folder}: expected a run of format {FORMAT}, found another.")
    return RunContract(**{key: value for key, value in record.items() if key in known})


def _check_same(folder: Path, there: Any, wanted: Mapping[str, Any]) -> None:
    different = [
        key for key in wanted if not isinstance(there, dict) or there.get(key) != wanted[key]
    ]
    if different:
        shown = "; ".join(
            f"{key}: {there.get(key) if isinstance(there, dict) else there!r:.60} there, "
            f"{wanted[key]} now"
            for key in different[:3]
        )
        raise StoreMismatchError(f"{folder} holds another run ({shown}); use another folder.")
