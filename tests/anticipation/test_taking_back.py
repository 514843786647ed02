"""Nothing derived survives its sources: whoever deletes or edits, wherever it is kept, whatever happens meanwhile."""

import re
import threading
from dataclasses import replace

import chromadb
import pytest
from chromadb.config import Settings
from support.writing_model import HISTORY, SCRIPT, WritingModel

from tmem_integrations import AnticipatoryMemory
from tmem_integrations.anticipation.ledger import Ledger
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.models.embeddings import StaticEmbedder
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.milvus import MilvusStore

VASE = ("vase0", "vase1", "vase2")
WORDS = re.compile(
    rb"vase|Mira|" + SCRIPT["vase"]["concept"].encode() + rb"|" + SCRIPT["vase"]["trait"].encode()
)


def filed(store, llm=None):
    return AnticipatoryMemory.from_messages(
        HISTORY, store=store, embedder=StaticEmbedder(), llm=llm or WritingModel()
    )


def bare(folder):
    """A memory over the folder to which nothing is attached."""
    return TemporalMemory(ChromaStore.open(folder), embedder=StaticEmbedder())


def delete_by_store(folder):
    with ChromaStore.open(folder) as store:
        store.delete(VASE)


def delete_by_memory(folder):
    memory = bare(folder)
    memory.delete(VASE)
    memory.close()


def forget_by_memory(folder):
    memory = bare(folder)
    memory.forget(ids=VASE)
    memory.close()


def update_by_memory(folder):
    memory = bare(folder)
    memory.update([replace(m, text="…") for m in HISTORY if m.id in VASE])
    memory.close()


def files_with_words(folder):
    found = {p.name: WORDS.findall(p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    # Ids are no text: the edited messages keep theirs.
    return {name: words for name, words in found.items() if any(one != b"vase" for one in words)}


@pytest.mark.parametrize("way", [delete_by_store, delete_by_memory, forget_by_memory])
def test_what_was_derived_goes_though_nothing_is_attached(tmp_path, way):
    memory = filed(ChromaStore.open(tmp_path, model="wordllama-256"))
    memory.retrieve("Does anyone keep pets, cats perhaps?")  # Vectors are kept now, too.
    memory.close()
    assert len(files_with_words(tmp_path)) >= 2
    way(tmp_path)
    assert files_with_words(tmp_path) == {}


def test_after_an_edit_what_was_said_stays_with_its_message_alone(tmp_path):
    filed(ChromaStore.open(tmp_path, model="wordllama-256")).close()
    update_by_memory(tmp_path)
    # As what it said before, for questions as of then.
    assert list(files_with_words(tmp_path)) == ["chroma.sqlite3"]
    delete_by_memory(tmp_path)
    assert files_with_words(tmp_path) == {}


def test_vectors_go_with_what_they_are_of(tmp_path):
    memory = filed(ChromaStore.open(tmp_path, model="wordllama-256"))
    memory.retrieve("pets")
    store = memory.store
    before = {row.id for row in store.derived.rows() if row.kind == "Vector"}
    store.delete([m.id for m in HISTORY])
    assert before
    assert store.derived.rows() == []
    memory.close()


@pytest.fixture(params=["memory", "folder", "client", "milvus"])
def store(request, tmp_path, collection):
    settings = Settings(anonymized_telemetry=False)
    made = {
        "memory": lambda: ChromaStore.in_memory(model="wordllama-256"),
        "folder": lambda: ChromaStore.open(tmp_path, model="wordllama-256"),
        "client": lambda: ChromaStore.from_client(
            chromadb.PersistentClient(tmp_path, settings=settings), model="wordllama-256"
        ),
        "milvus": lambda: MilvusStore.open(
            request.getfixturevalue("milvus_file"), collection=collection, model="wordllama-256"
        ),
    }[request.param]()
    with made:
        yield made


def test_an_attached_memory_follows_at_once(store):
    memory = filed(store)
    store.delete(["vase0"])
    memory.retrieve("pets")
    titles = {scene.title for scene in memory.ledger.scenes.values()}
    assert SCRIPT["vase"]["title"] not in titles
    assert "vase0" not in memory.ledger.turns


def test_the_rest_of_its_scene_is_written_anew_at_the_next_write(store):
    memory = filed(store)
    store.delete(["vase0"])
    memory.add([])
    (scene,) = [s for s in memory.ledger.scenes.values() if "vase1" in s.message_ids]
    assert scene.message_ids == ("vase1", "vase2")
    assert scene.is_described


class Interrupting(WritingModel):
    """While it is asked about the vase for the last time, somebody changes the store."""

    def __init__(self, opening, change):
        super().__init__()
        self.opening, self.change = opening, change

    def _reply(self, prompt):
        if prompt.startswith(self.opening) and "Mira" in prompt and self.change is not None:
            change, self.change = self.change, None
            # Of another thread, since locks let their own thread pass.
            thread = threading.Thread(target=change)
            thread.start()
            thread.join(10)
            assert not thread.is_alive()
        return super()._reply(prompt)


STEPS = (
    "Cut",
    "Write down one",
    "File scenes",
    "Take",
    "File facts",
    "File one",
    "Write down what",
)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("edits", [False, True])
def test_what_goes_while_it_is_filed_leaves_nothing(store, step, edits):
    changed = [replace(m, text="…") for m in HISTORY if m.id in VASE]
    change = (lambda: store.upsert(changed)) if edits else (lambda: store.delete(VASE))
    model = Interrupting(step, change)
    memory = filed(store, model)
    assert model.change is None
    texts = [str(one) for kind in memory.ledger._records.values() for one in kind.values()]
    assert not any("Mira" in text for text in texts)
    assert Ledger(store.derived).turns.keys() <= {m.id for m in HISTORY}
    assert not any("Mira" in row.body for row in store.derived.rows())


@pytest.mark.parametrize("kind", ["client", "milvus"])
def test_a_store_on_a_server_keeps_what_was_derived(request, tmp_path, collection, kind):
    settings = Settings(anonymized_telemetry=False)

    def opened():
        if kind == "client":
            client = chromadb.PersistentClient(tmp_path, settings=settings)
            return ChromaStore.from_client(client, model="wordllama-256")
        file = request.getfixturevalue("milvus_file")
        return MilvusStore.open(file, collection=collection, model="wordllama-256")

    first = filed(opened())
    found = first.retrieve("Does anyone keep pets, cats perhaps?").text
    first.close()
    model = WritingModel()
    again = filed(opened(), model)
    assert model.prompts == []
    assert again.retrieve("Does anyone keep pets, cats perhaps?").text == found
    again.close()
