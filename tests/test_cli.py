"""`tmem`: what it prints where, its exit codes, and that nothing ends in a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations import AnticipatoryRetriever, Message
from tmem_integrations.cli import main, reading
from tmem_integrations.cli.app import app
from tmem_integrations.stages.linearization import parse
from tmem_integrations.stores.chroma import ChromaStore

COMMANDS = [command.name or "" for command in app.registered_commands]
QUESTION = "When do we launch?"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Tmem = Callable[..., Result]


@pytest.fixture
def tmem(capsys: pytest.CaptureFixture[str]) -> Tmem:
    def run(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


def write_jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def record(message_id: str, text: str = "we ship on Friday", **values: Any) -> dict[str, Any]:
    return {"id": message_id, "text": text, "timestamp": "2026-03-02T09:00:00Z", **values}


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(
        tmp_path_factory.mktemp("chat") / "chat.jsonl",
        record("m1", author="Ann", channel="general"),
        record("m2", "no, we ship on Monday", author="Bo", channel="general", reply_to="m1"),
        record("m3", "the board will ship Bo home", author="Ann", channel="board"),
        record("m4", "lunch?", author="Bo", channel="general", timestamp="2026-03-09T09:00:00Z"),
    )


@pytest.fixture(scope="module")
def team(chat: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team") / "store"
    with pytest.raises(SystemExit) as ended:
        main(["import", str(chat), "--into", str(folder)])
    assert not ended.value.code
    return folder


@pytest.fixture
def own_team(chat: Path, tmp_path: Path, tmem: Tmem) -> Path:
    """A folder that a test may change."""
    assert tmem("import", chat, "--into", tmp_path / "own").code == 0
    return tmp_path / "own"


# help


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(tmem: Tmem, command: str) -> None:
    result = tmem(command, "--help")
    assert result.code == 0
    assert "Example" in result.out
    assert f"tmem {command} " in " ".join(result.out.split())


def test_without_arguments_help_is_shown(tmem: Tmem) -> None:
    result = tmem()
    assert all(command in result.out + result.err for command in COMMANDS)


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom tmem_integrations.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'chromadb', 'langchain_core', 'llama_index', 'sklearn', 'tiktoken'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


def test_the_version_is_printed(tmem: Tmem) -> None:
    assert tmem("--version").out.startswith("tmem ")


# demo


def test_the_demo_shows_what_a_flat_list_misses(tmem: Tmem) -> None:
    result = tmem("demo")
    assert result.code == 0
    assert "✘ Flat search: the answer is not among its 12 messages." in result.out
    assert "✔ The forest: " in result.out
    assert "second attempt on Tuesday the 24th" in " ".join(result.out.split())


def test_both_sides_of_the_demo_show_as_many_messages(tmem: Tmem) -> None:
    shown = tmem("demo", "--json").json
    assert len(shown["flat"]) == len(shown["message_ids"]) == 12


def test_on_a_wide_terminal_the_two_stand_side_by_side(
    tmem: Tmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "180")
    assert any("flat search" in line and "forest" in line for line in tmem("demo").out.splitlines())


def test_the_demo_hides_the_private_channel_from_who_is_not_in_it(tmem: Tmem) -> None:
    question = "Which price per transaction did Nordbank offer?"
    outside = tmem("demo", question, "--as", "wei")
    assert "leads" not in outside.out
    assert "0.8 %" not in outside.out
    assert "leads" in tmem("demo", question, "--as", "omar").out


def test_a_question_without_a_hit_says_so(tmem: Tmem) -> None:
    result = tmem("demo", "kubernetes", "--as", "zoe")
    assert result.code == 1
    assert "(no evidence)" in result.out


def test_the_saved_demo_can_be_imported_and_is_never_overwritten(
    tmem: Tmem, tmp_path: Path
) -> None:
    assert tmem("demo", "--save", tmp_path / "demo.jsonl").code == 0
    again = tmem("demo", "--save", tmp_path / "demo.jsonl")
    assert (again.code, "exists" in again.err) == (2, True)
    result = tmem("import", tmp_path / "demo.jsonl", "--into", tmp_path / "team", "--json")
    assert result.json["stored"]["added"] == result.json["messages"] == 328


# import


def test_importing_again_doubles_nothing(tmem: Tmem, chat: Path, own_team: Path) -> None:
    again = tmem("import", chat, "--into", own_team, "--json").json
    assert again["stored"] == {"added": 0, "updated": 0, "unchanged": 4}
    assert again["messages"] == 4


def test_an_edited_message_is_changed(tmem: Tmem, own_team: Path, tmp_path: Path) -> None:
    edited = write_jsonl(tmp_path / "edited.jsonl", record("m4", "dinner?"), record("m5"))
    assert (
        "1 new, 1 changed, 0 as before; 5 messages"
        in tmem("import", edited, "--into", own_team).out
    )


def test_a_bad_line_stops_before_anything_is_stored(tmem: Tmem, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(record("m1")) + "\n{\n")
    result = tmem("import", path, "--into", tmp_path / "team")
    assert result.code == 2
    assert "line 2: expected one JSON object, found '{'" in result.err
    assert not (tmp_path / "team").exists()


def test_skip_bad_counts_bad_lines(tmem: Tmem, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(record("m1")) + "\n{\n")
    result = tmem("import", path, "--into", tmp_path / "team", "--skip-bad", "--json").json
    assert result["files"][0]["read"] == 1
    assert result["files"][0]["skipped"]["bad entry"]["count"] == 1


def test_what_was_skipped_and_what_looks_odd_is_told_with_its_place(
    tmem: Tmem, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps(record("m1", reply_to="m0")) + "\n\n")
    result = tmem("import", path, "--into", tmp_path / "team")
    assert "skipped 1 × blank line: " in result.err
    assert "warning 1 × answers a message that is not in the file: " in result.err
    assert "line 1: reply_to 'm0'" in result.err


def test_times_without_zone_ask_for_the_option(tmem: Tmem, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "chat.jsonl", record("m1", timestamp="2026-03-02T09:00:00"))
    result = tmem("import", path, "--into", tmp_path / "team")
    assert (result.code, "--timezone Europe/Berlin" in result.err) == (2, True)
    assert tmem("import", path, "--into", tmp_path / "team", "--timezone", "UTC").code == 0


def test_columns_and_several_files_of_two_formats(tmem: Tmem, tmp_path: Path) -> None:
    dump = write_jsonl(tmp_path / "dump.jsonl", {"id": 1, "body": "hi", "ts": 0})
    log = tmp_path / "#ops.log"
    log.write_text("[2026-03-02T09:00:00Z] <ann> hi\n")
    columns = ("--column", "text=body", "--column", "timestamp=ts")
    result = tmem("import", dump, log, "--into", tmp_path / "team", "--json", *columns)
    assert (result.code, "irc takes no columns" in result.err) == (2, True)
    assert tmem("import", dump, "--into", tmp_path / "team", *columns).code == 0
    assert tmem("import", log, "--into", tmp_path / "team", "--json").json["messages"] == 2


def test_a_csv_under_other_names_and_without_ids_is_imported_and_asked_in_the_same_way(
    tmem: Tmem, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.csv"
    chat.write_text("date,who,body\n2026-03-02T09:00:00Z,Ann,we ship on Friday\n")
    columns = ("--column", "timestamp=date", "--column", "text=body", "--column", "author=who")
    refused = tmem("import", chat, "--into", tmp_path / "team", *columns)
    assert (refused.code, "--make-ids" in refused.err) == (2, True)
    for _ in "again":
        done = tmem("import", chat, "--into", tmp_path / "team", *columns, "--make-ids", "--json")
        assert done.json["messages"] == 1
    asked = ("ask", "when do we ship", "--json", "--in")
    answer = tmem(*asked, chat, *columns, "--make-ids").json
    assert answer["text"] == tmem(*asked, tmp_path / "team").json["text"]
    assert answer["message_ids"] == tmem(*asked, tmp_path / "team").json["message_ids"]
    assert tmem("show", "ship", "--in", chat, *columns, "--make-ids").code == 0


@pytest.mark.parametrize("command", ["import", "ask", "show", "serve"])
def test_every_command_that_reads_chat_files_has_the_same_options_for_it(
    tmem: Tmem, command: str
) -> None:
    assert {f"--{name.replace('_', '-')}" for name in reading._OPTIONS} <= set(
        tmem(command, "--help").out.split()
    )


def test_a_folder_is_not_read_as_a_file(tmem: Tmem, team: Path) -> None:
    result = tmem("ask", "ship", "--in", team, "--format", "csv", "--column", "text=body")
    assert (result.code, "leave out --format, --column" in result.err) == (2, True)


def test_a_log_with_times_only_is_asked_with_its_date(tmem: Tmem, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("[09:00] <ann> we ship on Friday\n")
    asked = ("ask", "ship", "--in", log, "--timezone", "UTC")
    assert tmem(*asked).code == 2
    assert "Mon 2026-03-02 09:00Z ann" in tmem(*asked, "--date", "2026-03-02").out


def test_a_log_with_times_only_takes_the_date_and_channel_given(tmem: Tmem, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("[09:00] <ann> we ship on Friday\n")
    place = ("--into", tmp_path / "team", "--timezone", "UTC")
    assert "--date 2026-03-02" in tmem("import", log, *place).err
    assert tmem("import", log, *place, "--date", "2026-03-02", "--channel", "ops").code == 0
    assert "Mon 2026-03-02 09:00Z ann in ops" in tmem("ask", "ship", "--in", tmp_path / "team").out


def test_a_file_without_messages_stores_nothing(tmem: Tmem, tmp_path: Path) -> None:
    log = tmp_path / "#ops.log"
    log.write_text("=== ann has joined #ops\n")
    result = tmem("import", log, "--format", "irc", "--into", tmp_path / "team")
    assert (result.code, "Nothing to store" in result.err) == (1, True)
    assert not (tmp_path / "team").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--column", "text"), "--column must be field=key"),
        (("--format", "signal"), "format must be one of jsonl, csv"),
        (("--date-order", "ydm"), "--date-order must be dmy, mdy or ymd"),
        (("--timezone", "Berlin"), "IANA name"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    tmem: Tmem, chat: Path, tmp_path: Path, arguments: tuple[str, str], complaint: str
) -> None:
    result = tmem("import", chat, "--into", tmp_path / "team", *arguments)
    assert result.code == 2
    assert result.err.startswith("tmem: ")
    assert complaint in result.err
    assert result.err.count("\n") == 1


# ask and show


def test_ask_prints_the_text_of_the_forest_alone(tmem: Tmem, team: Path) -> None:
    result = tmem("ask", "when do we ship", "--in", team)
    assert (result.code, result.err) == (0, "")
    assert {node.text for node in parse(result.out.rstrip("\n"))} >= {
        "we ship on Friday",
        "no, we ship on Monday",
    }


def test_ask_gives_programs_ids_and_the_same_text(tmem: Tmem, team: Path) -> None:
    plain, shown = tmem("ask", "ship", "--in", team), tmem("ask", "ship", "--in", team, "--json")
    assert shown.json["text"] == plain.out.rstrip("\n")
    assert set(shown.json["message_ids"]) >= {"m1", "m2", "m3"}


def test_a_chat_file_can_be_asked_as_it_is(tmem: Tmem, team: Path, chat: Path) -> None:
    asked = ("ask", "ship", "--json", "--in")
    assert tmem(*asked, chat).json["message_ids"] == tmem(*asked, team).json["message_ids"]


def test_nothing_found_is_told_on_stderr_with_code_1(tmem: Tmem, team: Path) -> None:
    for command in ("ask", "show"):
        result = tmem(command, "kubernetes", "--in", team)
        assert (result.code, result.out) == (1, "")
        assert "None of the 4 messages" in result.err


def test_as_of_channel_and_limits_narrow_the_answer(tmem: Tmem, team: Path) -> None:
    asked = ("ask", "ship or lunch", "--in", team, "--json")
    assert "m4" in tmem(*asked).json["message_ids"]
    assert "m4" not in tmem(*asked, "--as-of", "2026-03-05").json["message_ids"]
    assert tmem(*asked, "--channel", "board").json["message_ids"] == ["m3"]
    assert len(tmem(*asked, "--max-messages", "1").json["message_ids"]) == 1
    assert tmem(*asked, "--max-tokens", "60").json["n_tokens"] <= 60


@pytest.mark.parametrize("command", ["ask", "show"])
def test_as_of_is_typed_as_people_write_it(tmem: Tmem, team: Path, command: str) -> None:
    assert tmem(command, "ship", "--in", team, "--as-of", "yesterday").code == 0
    wrong = tmem(command, "ship", "--in", team, "--as-of", "soon")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--as-of must be a time such as 2026-03-12T12:00" in wrong.err


def test_members_hide_a_channel_from_who_is_not_in_it(
    tmem: Tmem, team: Path, tmp_path: Path
) -> None:
    members = tmp_path / "members.json"
    members.write_text('{"general": "*", "board": ["Ann"]}')
    asked = ("ask", "ship", "--in", team, "--json", "--members", members)
    assert "m3" in tmem(*asked, "--as", "Ann").json["message_ids"]
    assert "m3" not in tmem(*asked, "--as", "Bo").out
    nobody = tmem(*asked)
    assert (nobody.code, "--as" in nobody.err) == (2, True)


@pytest.mark.parametrize("content", ["[]", "{", '{"general": 5}'])
def test_a_wrong_members_file_is_an_error(
    tmem: Tmem, team: Path, tmp_path: Path, content: str
) -> None:
    members = tmp_path / "members.json"
    members.write_text(content)
    result = tmem("ask", "ship", "--in", team, "--members", members, "--as", "Ann")
    assert (result.code, "members.json: expected" in result.err) == (2, True)


def test_show_draws_numbers_times_in_the_zone_and_authors(tmem: Tmem, team: Path) -> None:
    result = tmem("show", "ship", "--in", team, "--timezone", "Europe/Berlin")
    assert result.code == 0
    assert "[1] Mon 02 Mar 2026 10:00  Ann  #general" in result.out


def test_an_escape_sequence_of_a_message_is_not_sent(tmem: Tmem, tmp_path: Path) -> None:
    chat = write_jsonl(tmp_path / "chat.jsonl", record("m1", "ship \x1b[2J"))
    for command in ("show", "ask"):
        assert "\x1b" not in tmem(command, "ship", "--in", chat).out


def test_on_a_terminal_what_turns_text_is_shown_and_into_a_pipe_it_goes_as_it_is(
    tmem: Tmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = write_jsonl(tmp_path / "chat.jsonl", record("m1", "ship \u202enow"))
    assert "ship \u202enow" in tmem("ask", "ship", "--in", chat).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "ship <U+202E>now" in tmem("ask", "ship", "--in", chat).out


@pytest.mark.parametrize("command", ["ask", "show"])
def test_a_source_that_is_not_there_is_an_error(tmem: Tmem, command: str, tmp_path: Path) -> None:
    result = tmem(command, "ship", "--in", tmp_path / "none")
    assert (result.code, "found nothing there" in result.err) == (2, True)
    assert tmem(command, "ship", "--in", tmp_path).code == 2


# check


def test_a_whole_folder_has_no_problems(tmem: Tmem, team: Path) -> None:
    assert tmem("check", "--in", team).code == 0
    assert tmem("check", "--in", team, "--json").json == {"messages": 4, "problems": []}


def test_problems_are_printed_with_code_1(
    tmem: Tmem, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChromaStore, "check", lambda store: ("one message is missing",))
    result = tmem("check", "--in", team)
    assert (result.code, result.out) == (1, "one message is missing\n")


# forget


def test_forget_without_a_condition_is_an_error(tmem: Tmem, team: Path) -> None:
    result = tmem("forget", "--in", team, "--yes")
    assert (result.code, "Say what to forget" in result.err) == (2, True)


def test_forget_without_yes_only_counts(tmem: Tmem, own_team: Path) -> None:
    result = tmem("forget", "--in", own_team, "--author", "Ann")
    assert (result.code, "Would forget 2 of 4 messages" in result.out) == (0, True)
    assert tmem("check", "--in", own_team, "--json").json["messages"] == 4


def test_the_dry_run_names_the_first_messages_and_counts_the_rest(
    tmem: Tmem, tmp_path: Path
) -> None:
    chat = write_jsonl(tmp_path / "chat.jsonl", *(record(f"m{i}", author="Ann") for i in range(7)))
    tmem("import", chat, "--into", tmp_path / "team")
    lines = tmem("forget", "--in", tmp_path / "team", "--author", "Ann").out.splitlines()
    assert lines[0] == "Would forget 7 of 7 messages:"
    assert lines[1] == "  m0  2026-03-02  Ann"
    assert lines[-1] == "  and 2 more"
    assert tmem("forget", "--in", tmp_path / "team", "--author", "Ann", "--yes").out == (
        "Forgot 7 messages; 0 are left.\n"
    )


@pytest.mark.parametrize(
    ("conditions", "gone"),
    [
        (("--author", "Ann"), {"m1", "m3"}),
        (("--author", "Ann", "--author", "Bo"), {"m1", "m2", "m3", "m4"}),
        (("--channel", "board"), {"m3"}),
        (("--before", "2026-03-05"), {"m1", "m2", "m3"}),
        (("--before", "5 March 2026"), {"m1", "m2", "m3"}),
        (("--id", "m2", "--id", "m4"), {"m2", "m4"}),
        (("--id", "m2", "--id", "m4", "--before", "2026-03-05"), {"m2"}),
        (("--author", "Bo", "--channel", "general", "--before", "2026-03-05"), {"m2"}),
    ],
)
def test_all_conditions_must_hold(
    tmem: Tmem, team: Path, conditions: tuple[str, ...], gone: set[str]
) -> None:
    assert set(tmem("forget", "--in", team, "--json", *conditions).json["matched"]) == gone


def test_what_is_forgotten_is_gone_and_the_rest_is_whole(tmem: Tmem, own_team: Path) -> None:
    result = tmem("forget", "--in", own_team, "--author", "Ann", "--yes", "--json")
    assert result.json == {"matched": ["m1", "m3"], "forgotten": 2, "messages": 2}
    assert tmem("check", "--in", own_team).code == 0
    assert not {"m1", "m3"} & set(
        tmem("ask", "when do we ship on Friday", "--in", own_team, "--json").json["message_ids"]
    )
    assert b"board will ship" not in (own_team / "chroma.sqlite3").read_bytes()


def test_what_was_forgotten_stays_so_until_it_is_brought_back(
    tmem: Tmem, chat: Path, own_team: Path
) -> None:
    tmem("forget", "--in", own_team, "--author", "Ann", "--yes")
    planned = tmem("import", chat, "--into", own_team, "--dry-run", "--json").json
    assert planned["diff"]["forgotten"] == 2
    again = tmem("import", chat, "--into", own_team)
    assert "0 new, 0 changed, 2 as before, 2 left out since forgotten; 2 messages" in again.out
    assert "--bring-back takes it in again" in again.err
    assert tmem("check", "--in", own_team, "--json").json == {"messages": 2, "problems": []}
    back = tmem("import", chat, "--into", own_team, "--bring-back", "--json").json
    assert (back["diff"]["new"], back["messages"]) == (2, 4)
    assert tmem("import", chat, "--into", own_team, "--json").json["diff"]["unchanged"] == 4


def test_a_damaged_list_of_what_was_forgotten_is_told_and_brings_nothing_back(
    tmem: Tmem, chat: Path, own_team: Path
) -> None:
    tmem("forget", "--in", own_team, "--author", "Ann", "--yes")
    (own_team / "forgotten.txt").write_text("not a hash\n")
    again = tmem("import", chat, "--into", own_team)
    assert (again.code, "forgotten.txt, line 1: expected 32 digits" in again.err) == (2, True)
    checked = tmem("check", "--in", own_team)
    assert (checked.code, "forgotten.txt, line 1" in checked.out) == (1, True)
    assert tmem("ask", "when do we ship on Friday", "--in", own_team).code == 0


def test_one_message_is_told_as_one(tmem: Tmem, tmp_path: Path) -> None:
    chat = write_jsonl(tmp_path / "chat.jsonl", record("m1"), record("m2", author="Ann"))
    read = tmem("import", chat, "--into", tmp_path / "team").out
    assert ("(jsonl): 2 messages\n" in read, read.endswith("; 2 messages in all\n")) == (True, True)
    gone = ("forget", "--in", tmp_path / "team", "--author", "Ann")
    assert tmem(*gone).out.startswith("Would forget 1 of 2 messages:\n")
    assert tmem(*gone, "--yes").out == "Forgot 1 message; 1 is left.\n"
    assert tmem("check", "--in", tmp_path / "team").err == "1 message, no problems\n"


def test_forget_shows_days_in_the_zone_in_which_it_counts_them(tmem: Tmem, tmp_path: Path) -> None:
    late = record("m1", timestamp="2026-03-02T23:30:00Z")
    assert (
        tmem("import", write_jsonl(tmp_path / "c.jsonl", late), "--into", tmp_path / "team").code
        == 0
    )
    asked = ("forget", "--in", tmp_path / "team", "--before", "2026-03-03")
    assert "  m1  2026-03-02  unknown" in tmem(*asked).out
    assert tmem(*asked, "--timezone", "Europe/Berlin").code == 1
    both = ("--id", "m1", "--timezone", "Europe/Berlin")
    assert "  m1  2026-03-03  unknown" in tmem("forget", "--in", tmp_path / "team", *both).out
    assert "Zone in which --before begins" in tmem("forget", "--help").out


def test_forgetting_what_is_not_there_has_code_1(tmem: Tmem, team: Path) -> None:
    result = tmem("forget", "--in", team, "--author", "Cy", "--yes")
    assert (result.code, "No message meets the conditions; 4 messages stay" in result.err) == (
        1,
        True,
    )


# the terminal


def test_no_color_is_respected(tmem: Tmem, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[34m" in tmem("show", "ship", "--in", team).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[34m" not in tmem("show", "ship", "--in", team).out


def test_ctrl_c_ends_without_a_traceback(
    tmem: Tmem, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(store: ChromaStore) -> tuple[str, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr(ChromaStore, "check", interrupt)
    result = tmem("check", "--in", team)
    assert (result.code, result.out) == (130, "")


def test_a_reader_that_goes_away_leaves_no_traceback(team: Path) -> None:
    command = [sys.executable, "-c", "from tmem_integrations.cli import main; main()"]
    process = subprocess.Popen(
        [*command, "ask", "ship", "--in", str(team)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


def test_a_terminal_that_cannot_show_a_sign_still_gets_the_answer(team: Path) -> None:
    command = [sys.executable, "-c", "from tmem_integrations.cli import main; main()"]
    done = subprocess.run(
        [*command, "show", "ship", "--in", str(team)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert b"we ship on Friday" in done.stdout


# importing again


def test_what_is_gone_at_the_source_stays_without_mirror(
    tmem: Tmem, own_team: Path, tmp_path: Path
) -> None:
    fewer = write_jsonl(
        tmp_path / "fewer.jsonl",
        record("m1", author="Ann", channel="general"),
        record("m4", "lunch?", author="Bo", channel="general", timestamp="2026-03-09T09:00:00Z"),
    )
    result = tmem("import", fewer, "--into", own_team)
    assert "1 message is gone at the source; --mirror removes it" in result.err
    planned = tmem("import", fewer, "--into", own_team, "--mirror", "--dry-run", "--json").json
    assert planned["diff"]["gone"] == 1
    done = tmem("import", fewer, "--into", own_team, "--mirror", "--json").json
    assert (done["removed"], done["messages"]) == (1, 3)
    assert tmem("check", "--in", own_team).code == 0


def test_a_dry_run_makes_no_folder(tmem: Tmem, chat: Path, tmp_path: Path) -> None:
    result = tmem("import", chat, "--into", tmp_path / "new", "--dry-run")
    assert "4 new" in result.out
    assert not (tmp_path / "new").exists()


def test_mirror_and_skip_bad_exclude_each_other(tmem: Tmem, chat: Path, tmp_path: Path) -> None:
    result = tmem("import", chat, "--into", tmp_path / "new", "--mirror", "--skip-bad")
    assert (result.code, "--mirror would remove" in result.err) == (2, True)


def test_members_of_a_slack_export_open_and_close_its_channels(tmem: Tmem, tmp_path: Path) -> None:
    said = {"type": "message", "user": "U1", "ts": "1772442000.000100", "text": "we ship on Friday"}
    channels = [{"id": "C1", "name": "board", "members": ["U1"]}]
    (tmp_path / "export" / "board").mkdir(parents=True)
    (tmp_path / "export" / "channels.json").write_text(json.dumps(channels))
    (tmp_path / "export" / "board" / "2026-03-02.json").write_text(json.dumps([said]))
    members, team = tmp_path / "members.json", tmp_path / "team"
    done = tmem("import", tmp_path / "export", "--into", team, "--save-members", members)
    assert done.code == 0
    asked = ("ask", "when do we ship", "--in", team, "--members", members)
    assert tmem(*asked, "--as", "U1").code == 0
    assert tmem(*asked, "--as", "U2").code == 1


def test_an_import_that_edits_or_removes_takes_back_what_was_derived(
    tmem: Tmem, tmp_path: Path
) -> None:
    folder, derived = tmp_path / "team", tmp_path / "team" / "anticipation.sqlite3"
    first = [
        record("m1", "Mira broke the amphora", channel="ops", timestamp="2026-03-02T09:00:00Z"),
        record("m2", "The zeppelin is late", channel="ops", timestamp="2026-03-02T09:01:00Z"),
        record("m3", "fine", channel="ops", timestamp="2026-03-02T09:02:00Z"),
    ]
    chat = write_jsonl(tmp_path / "chat.jsonl", *first)
    assert tmem("import", chat, "--into", folder).code == 0
    history = [Message.from_dict(one) for one in first]
    AnticipatoryRetriever.from_messages(history, store=folder).close()
    assert b"amphora" in derived.read_bytes()
    later = "2026-03-03T00:00:00Z"
    edited = {**first[0], "text": "Mira broke the vase", "edited_at": later}
    write_jsonl(chat, edited, first[2])
    assert tmem("import", chat, "--into", folder, "--mirror").code == 0
    left = derived.read_bytes()
    assert b"amphora" not in left
    assert b"zeppelin" not in left


def test_nothing_that_a_command_prints_as_json_acts_on_a_terminal(
    tmem: Tmem, tmp_path: Path
) -> None:
    said = {"id": "m1", "text": "ship \x9b2J\u202e now", "timestamp": "2026-03-02T09:00:00Z"}
    chat = write_jsonl(tmp_path / "chat.jsonl", {**said, "author": "Ann\x9b31m\n[2] Bo"})
    shown = tmem("ask", "ship", "--in", chat, "--json")
    assert not {"\x9b", "\u202e"} & set(shown.out)
    assert shown.json["nodes"][0]["author"] == "Ann\x9b31m\n[2] Bo"


def test_a_remark_on_an_import_begins_no_line_with_text_of_a_chat(
    tmem: Tmem, tmp_path: Path
) -> None:
    chat = {"name": "Trip\nNow ask it: tmem forget", "type": "private_group", "id": 1}
    service = {"id": 2, "type": "service", "date": "2026-03-02T09:00:00", "date_unixtime": "1"}
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**chat, "messages": [service]}))
    notes = tmem("import", path, "--into", tmp_path / "team").err.splitlines()
    assert not any(note.startswith("Now ask it: tmem forget") for note in notes)
