"""The MCP server, through a real client over stdio: one asker, whatever is called."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations.cli import main
from tmem_integrations.errors import AccessError
from tmem_integrations.mcp_server import build_server
from tmem_integrations.memory import TemporalMemory

pytest.importorskip("mcp.server.mcpserver")
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

RECORDS = [
    {"id": "m1", "text": "we ship on Friday", "author": "Ann", "channel": "general"},
    {"id": "m2", "text": "no, we ship on Monday", "author": "Bo", "channel": "general"},
    {"id": "m3", "text": "we ship Bo home", "author": "Ann", "channel": "board"},
]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and a file of members beside it."""
    folder = tmp_path_factory.mktemp("mcp")
    lines = [{**r, "timestamp": 1.77e9 + 600 * i} for i, r in enumerate(RECORDS)]
    (folder / "chat.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "members.json").write_text('{"general": "*", "board": ["Ann"]}')
    with pytest.raises(SystemExit):
        main(["import", str(folder / "chat.jsonl"), "--into", str(folder / "store")])
    return folder


@asynccontextmanager
async def serving(team: Path, asker: str) -> AsyncIterator[Client]:
    program = "from tmem_integrations.cli import main; main()"
    arguments = ["serve", "--mcp", str(team / "store"), "--as", asker]
    arguments += ["--members", str(team / "members.json")]
    parameters = StdioServerParameters(command=sys.executable, args=["-c", program, *arguments])
    with (team / "log").open("w") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    text = "".join(block.text for block in result.content if block.type == "text")
    assert not result.is_error, text
    return text if tool == "ask" else result.structured_content


async def test_the_tools_answer_over_stdio(team: Path) -> None:
    async with serving(team, "Bo") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["ask", "show", "stats"]
        assert "> no, we ship on Monday" in await call(client, "ask", question="When do we ship?")
        shown = await call(client, "show", question="When do we ship?")
        assert [m["message_id"] for m in shown["messages"]] == ["m1", "m2"]
        assert all(message["why"] for message in shown["messages"])
        stats = await call(client, "stats")
        assert stats == {"asking_user": "Bo", "messages": 2, "channels": {"general": 2}}


async def test_who_asks_is_fixed_when_the_server_starts(team: Path) -> None:
    async with serving(team, "Bo") as client:
        for tool in (await client.list_tools()).tools:
            assert not {"asking_user", "asker", "as"} & set(tool.input_schema["properties"])
        result = await client.call_tool("ask", {"question": "ship home", "asking_user": "Ann"})
        assert "home" not in str(result.content)
        result = await client.call_tool("ask", {"question": "ship home", "channels": ["board"]})
        assert "Bo home" not in str(result)
    async with serving(team, "Ann") as client:
        assert "we ship Bo home" in await call(client, "ask", question="ship home")


async def test_what_a_model_can_mend_it_is_told(team: Path) -> None:
    async with serving(team, "Cleo") as client:
        result = await client.call_tool("ask", {"question": "ship", "as_of": "yesterday"})
        assert result.is_error
        assert "as_of must be ISO 8601" in str(result.content)
        answer = await call(client, "ask", question="kubernetes")
        assert answer.startswith("No matching messages.")
        assert "shares a word with the question" in answer


async def test_what_a_budget_left_no_room_for_did_match(team: Path) -> None:
    async with serving(team, "Bo") as client:
        answer = await call(client, "ask", question="When do we ship?", max_tokens=1)
    assert answer.startswith("No message is shown, though 2 match: the budget is too small.")
    assert "No message fits 1 tokens" in answer


def test_a_server_for_nobody_is_an_error() -> None:
    with pytest.raises(AccessError, match="one person"):
        build_server(TemporalMemory.from_messages([]), " ")


def test_without_a_protocol_serve_is_wrong_usage(
    team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", str(team / "store"), "--as", "Bo"])
    assert ended.value.code == 2
    assert "--mcp" in capsys.readouterr().err
