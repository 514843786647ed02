"""What happened in a scene? (AM §3: title, summary, third-person narrative)"""

from __future__ import annotations

from tmem_integrations.prompts.writing import QUOTED, TEXT, WritingPrompt, records_schema

SCENES = WritingPrompt(
    template=f"""\
Write down one scene of a chat for somebody who was not there.

{QUOTED}

title: at most 8 words, what it is about, with the names that matter.
summary: one or two sentences, what came out of it.
narrative: the whole scene in the third person, past tense, in order: who said, wanted, decided or felt \
what, with names, numbers, dates and reasons kept. Relative days ("tomorrow") as dates. Nothing that was \
not said.

Reply with JSON only:
{{{{"scenes":[{{{{"title":"…","summary":"…","narrative":"…"}}}}]}}}}

<chat>
{{chat}}
</chat>""",
    fields=("chat",),
    schema=records_schema("scene", "scenes", title=TEXT, summary=TEXT, narrative=TEXT),
    reply_tokens=320,
)
