"""Who are the speakers? (AM §3)"""

from __future__ import annotations

from tmem_integrations.prompts.writing import QUOTED, TEXT, TEXTS, WritingPrompt, records_schema

PERSONA = WritingPrompt(
    template=f"""\
Write down what a scene of a chat says about the speakers that will still hold in a year: family, home, \
work, health, values, likes and dislikes, habits. No moods, no plans for the week, no guesses.

{QUOTED}

Each trait is one clause without its subject, such as "is allergic to nuts". Name who it is about, spelled \
as in the chat, and the messages that say so. Only speakers of this chat.

Reply with JSON only:
{{{{"traits":[{{{{"speaker":"Ann","trait":"is allergic to nuts","messages":["m2"]}}}}]}}}}
Nothing: {{{{"traits":[]}}}}

<chat>
{{chat}}
</chat>""",
    fields=("chat",),
    schema=records_schema("persona", "traits", speaker=TEXT, trait=TEXT, messages=TEXTS),
    reply_tokens=60,
)
