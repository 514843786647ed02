"""Who may import what: the arrows of the architecture, and the price of `import tmem_integrations`."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tmem_integrations

PACKAGE = Path(tmem_integrations.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
# Lowest first. Whoever stands higher may import whoever stands lower; neighbours know nothing of
# each other.
LAYERS = (
    {"errors", "batches", "counting", "suggestions"},
    {"times"},
    {"messages", "config", "date_forms"},
    {"protocols", "trace", "text", "dates", "hostile"},
    {"access", "prompts", "told_view"},
    {"requests"},
    {"models"},
    {"linking", "stores"},
    {"stages"},
    {"judges", "visual"},
    {"retrieval", "explanations"},
    {"pipeline", "drivers", "periods", "forgetting", "storing"},
    {"reading"},
    {"memory"},
    {"anticipation"},
    {"bridges"},
    {"retriever", "anticipatory"},
    {"importers", "evaluation", "demo", "mcp_server"},
    {"cli"},
    {"__init__"},
)
RANK = {unit: rank for rank, units in enumerate(LAYERS) for unit in units}
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def imported_modules(file: str) -> Iterator[str]:
    """All modules a file imports, also inside functions."""
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            yield str(node.module)


def unit_of(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


@pytest.mark.parametrize("file", FILES)
def test_imports_point_to_lower_layers(file):
    own = unit_of(file)
    for module in imported_modules(file):
        parts = module.split(".")
        if parts[0] == "tmem_integrations" and len(parts) > 1 and parts[1] != own:
            assert RANK[parts[1]] < RANK[own], f"{file} imports {module}"


def test_every_unit_of_the_package_has_a_layer():
    assert {unit_of(file) for file in FILES} <= RANK.keys()


def test_the_layout_of_the_contributing_guide_names_every_unit_lowest_first():
    layout = CONTRIBUTING.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    shown = re.findall(r"^  (\w+)(?:\.py|/) ", layout, re.MULTILINE)
    assert {*shown, "__init__"} == RANK.keys()
    assert shown == sorted(shown, key=RANK.__getitem__)


@pytest.mark.parametrize("file", FILES)
def test_only_the_retriever_and_the_bridges_import_a_framework(file):
    roots = {module.split(".")[0] for module in imported_modules(file)}
    foreign = {root for root in roots if root.startswith(("langchain", "llama_index"))}
    assert not foreign or unit_of(file) in ("retriever", "anticipatory", "bridges")


@pytest.mark.parametrize("file", FILES)
def test_only_the_chroma_store_imports_chromadb(file):
    modules = {m for m in imported_modules(file) if m.split(".")[0] == "chromadb"}
    # MiniLM is a file that comes with Chroma, and no store.
    modules.discard("chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2")
    assert not modules or file.startswith("stores/chroma")


@pytest.mark.parametrize("file", FILES)
def test_only_the_milvus_store_imports_pymilvus(file):
    roots = {module.split(".")[0] for module in imported_modules(file)}
    assert not roots & {"pymilvus", "milvus_lite", "grpc"} or file.startswith("stores/milvus")


def test_every_module_of_the_milvus_store_can_be_read_without_the_extra():
    names = [f"tmem_integrations.stores.{Path(file).stem}" for file in FILES if "/milvus" in file]
    assert len(names) > 5
    code = "import sys; sys.modules |= dict.fromkeys(('pymilvus', 'milvus_lite', 'grpc'))"
    assert "tmem_integrations" in loaded_after(f"{code}\nimport {', '.join(names)}")


def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after it ran `code`."""
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_dependency():
    assert not {"numpy", "chromadb", "langchain_core", "llama_index"} & loaded_after(
        "import tmem_integrations"
    )


def test_the_memory_loads_no_framework():
    assert not {"langchain_core", "llama_index"} & loaded_after(
        "from tmem_integrations import TemporalMemory"
    )


@pytest.mark.parametrize("name", tmem_integrations.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(tmem_integrations, name) is not None


def test_every_public_name_has_a_home_and_is_listed():
    assert (
        set(tmem_integrations.__all__)
        == tmem_integrations._HOMES.keys()
        <= set(dir(tmem_integrations))
    )


def test_a_name_of_an_extra_that_is_not_installed_is_one_sentence_with_the_pip_line():
    code = (
        "import sys; sys.modules['pymilvus'] = None\n"
        "from tmem_integrations import *\n"
        "MilvusStore.open('chat.db')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "tmem_integrations.errors.MissingExtraError: A store in Milvus needs pymilvus, which is not "
        'installed: pip install "tmem-integrations[milvus]"'
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Forrest'"):
        _ = tmem_integrations.Forrest
