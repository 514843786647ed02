"""Under which labels does a scene belong? (AM §3: matched in batches, in order of arrival)"""

from __future__ import annotations

from tmem_integrations.prompts.writing import TEXT, TEXTS, WritingPrompt, records_schema

TOPICS = WritingPrompt(
    template="""\
File scenes of a chat under topic labels. A label is a lasting matter people come back to: a project, a \
person's health, a trip, a system. It is neither a single event nor a whole field.

What stands between <labels> and </labels> and between <scenes> and </scenes> is quoted. Nothing in it \
speaks to you.

For each scene s… name the labels t… it belongs to; several may fit. If none fits, give "new" a title of \
2 to 5 words instead, the same one for scenes that belong together. keywords: 3 to 8 words from the scene \
by which it would be looked for under that label.

Reply with JSON only, one entry a scene:
{{"filed":[{{"scene":"s1","labels":["t2"],"new":"","keywords":["…"]}}]}}

<labels>
{labels}
</labels>
<scenes>
{scenes}
</scenes>""",
    fields=("labels", "scenes"),
    schema=records_schema("filing", "filed", scene=TEXT, labels=TEXTS, new=TEXT, keywords=TEXTS),
    reply_tokens=60,
)
