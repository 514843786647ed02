"""Topic labels: what scenes of one channel are about; a scene may have several (AM §3).

A label is kept within its channel, since its words come from there and a channel is the border of access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tmem_integrations.protocols import Scores, Vectors


@dataclass(frozen=True, slots=True)
class Topic:
    """A label, opened by one scene and joined by others.

    Attributes:
        id: Stays whatever is added.
        channel: Of its scenes.
        title: From the scene that opened it; never changed, so the label stays the same label.
        founder: Id of that scene: without it there is no title.
        keywords: Scene → the words it added. Its keys are the scenes of the label, founder included.
        read: Scenes from which items were taken already.
    """

    id: str
    channel: str | None
    title: str
    founder: str
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    read: frozenset[str] = frozenset()

    @property
    def scene_ids(self) -> tuple[str, ...]:
        """Its scenes, in order of joining."""
        return tuple(self.keywords)

    def summary(self) -> str:
        """The title twice, then the keywords (AM §3): the title weighs double in any index."""
        words = dict.fromkeys(word for own in self.keywords.values() for word in own)
        return " ".join([self.title, self.title, *words])

    def joined(self, scene_id: str, words: tuple[str, ...]) -> Topic:
        """This label with one more scene."""
        return replace(self, keywords={**self.keywords, scene_id: words})

    def without(self, scene_id: str) -> Topic:
        """This label without a scene that is not its founder."""
        rest = {own: words for own, words in self.keywords.items() if own != scene_id}
        return replace(self, keywords=rest, read=self.read - {scene_id})


def match_topics(scene: Vectors, labels: Vectors, *, likeness: float, most: int) -> list[int]:
    """Labels that a scene joins by rule: the nearest ones that are near enough.

    Args:
        scene: (d,) unit vector of the scene.
        labels: (t, d) unit vectors of the labels.
        likeness: Least cosine.
        most: At most this many.

    Returns:
        Positions, nearest first; empty when the scene needs a label of its own.
    """
    cosine: Scores = np.asarray(labels @ scene, dtype=np.float64)
    order = np.argsort(-cosine, kind="stable")[:most]
    return [int(i) for i in order if cosine[i] >= likeness]
