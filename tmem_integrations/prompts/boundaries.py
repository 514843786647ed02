"""Where does a new scene begin? (AM §3, boundary detection over a sliding buffer of turns)"""

from __future__ import annotations

from tmem_integrations.prompts.writing import QUOTED, TEXT, WritingPrompt, records_schema

BOUNDARIES = WritingPrompt(
    template=f"""\
Cut a chat into scenes. A scene is one event: people settle, tell or plan one thing. It ends when that is \
over and something else begins, not at every change of speaker.

{QUOTED}

Messages labelled c… were read before and only give context. Name each message labelled m… that is the \
first of a new scene. A reply belongs to what it answers. If all go on with what came before, name none.

Reply with JSON only:
{{{{"starts":[{{{{"id":"m4","reason":"turns to the trip"}}}}]}}}}
None begins: {{{{"starts":[]}}}}

<chat>
{{chat}}
</chat>""",
    fields=("chat",),
    schema=records_schema("boundaries", "starts", id=TEXT, reason=TEXT),
    reply_tokens=40,
)
