"""Real files as the owners: what others do to them, which version something was made from, and that nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Act, Landed, Read
from fencecheck.integrations import file_directory
from fencecheck.integrations.file_contents import VERSIONS, contents_of
from fencecheck.integrations.file_directory import PREFIX, Directory
from fencecheck.integrations.files import FIRST_SAVED_NS, HOWS, FileSystem, appends, writes
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.run.faults import MALFORMED
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.replay import replay

NOTES, APP = "docs/notes.md", "app.py"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files of each test's own, which is empty again in the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert [path for path in tmp_path.iterdir() if path.name.startswith(PREFIX)] == []


class Looks(FileSystem):
    """Looks at a file before and after whatever happens at point 1, then writes it."""

    files = {NOTES: "", APP: "print('hello')\n"}
    looks_at = NOTES
    seen: list[tuple[os.stat_result | None, str | None]] = []

    def run(self) -> None:
        self.seen.clear()
        self.note()
        self.write(self.looks_at, f"{self.read(self.looks_at)}done\n")
        self.kit.point("meanwhile")
        self.note()

    def note(self) -> None:
        path = self.root / self.looks_at
        self.seen.append((os.stat(path), path.read_bytes().decode()) if path.exists() else (None, None))


class Meanwhile(Looks):
    """The same without the write in between."""

    def run(self) -> None:
        self.seen.clear()
        self.note()
        self.kit.point("meanwhile")
        self.note()
        self.kit.act("write", {"path": NOTES, "content": self.kit.scenario.values[NOTES][0]}, via=lambda: None)


def after(*hows: str, system: type[Looks] = Meanwhile) -> list[Any]:
    """What was there before and after these updates."""
    with Runner(system) as runner:
        history = runner.run((), tuple(Event(0, Update(NOTES, how)) for how in hows))
        assert all(entry.fired for entry in history.entries if type(entry) is Landed)
    return list(system.seen)


@pytest.mark.parametrize(
    ("how", "time", "size", "inode", "content"),
    [
        ("fresh", 2e9, "other", "same", "r2"),
        ("older-time", -3600e9, "other", "same", "r2"),
        ("same-tick", 0, "other", "same", "r2"),
        ("same-tick-and-size", 0, "same", "same", "other"),
        ("renamed-over", 2e9, "other", "other", "r2"),
        ("truncated", 2e9, "other", "same", ""),
        ("touched", 2e9, "same", "same", "r1"),
    ],
)
def test_what_each_update_does_to_a_file(how: str, time: float, size: str, inode: str, content: str) -> None:
    (before, old), (now, new) = after(how)
    assert (before.st_mtime_ns, old) == (FIRST_SAVED_NS, contents_of(NOTES, "").versions[0])
    assert now.st_mtime_ns - before.st_mtime_ns == time
    assert ("same" if now.st_size == before.st_size else "other", "same" if now.st_ino == before.st_ino else "other") == (size, inode)
    named = {"r1": old, "r2": contents_of(NOTES, "").versions[1], "": ""}
    assert new == named[content] if content in named else new not in named.values()


@pytest.mark.parametrize("how", ["removed", "renamed-away"])
def test_a_file_that_is_gone_can_be_saved_again_later_than_before(how: str) -> None:
    assert after(how)[1] == (None, None)
    (before, _), (now, new) = after(how, "fresh")
    assert now.st_mtime_ns > before.st_mtime_ns
    assert new in contents_of(NOTES, "").versions[1:]


def test_what_is_not_there_cannot_be_changed_otherwise() -> None:
    for how in HOWS:
        with Runner(Meanwhile) as runner:
            history = runner.run((), (Event(0, Update(NOTES, "removed")), Event(0, Update(NOTES, how))))
        assert [entry.fired for entry in history.entries if type(entry) is Landed] == [True, False], how


def test_an_earlier_content_is_saved_again() -> None:
    (_, old), (_, new) = after("fresh", "earlier")
    assert new == old


# -- a fresh directory for each episode ------------------------------------------------------------------------------------------------


def leaves(what: Callable[[Path], object]) -> list[str]:
    """What the second episode finds where the first one did `what`."""

    class Leaves(FileSystem):
        files = {NOTES: "", APP: ""}
        found: list[str] = []

        def run(self) -> None:
            self.found[:] = sorted(
                f"{os.lstat(path).st_mode:o} {path.relative_to(self.root)} {path.read_text()[:3] if path.is_file() else ''}"
                for path in self.root.rglob("*")
            )
            what(self.root)
            self.kit.act("write", {"path": NOTES}, via=lambda: None)

    with Runner(Leaves) as runner:
        runner.run()
        first = list(Leaves.found)
        runner.run()
        assert len(first) == 3
        assert Leaves.found == first
    return first


def made_a_folder(root: Path) -> None:
    (root / "deep" / "deeper").mkdir(parents=True)
    (root / "deep" / "deeper" / "file").write_text("x")
    (root / "deep").chmod(0)


@pytest.mark.parametrize(
    "what",
    [
        lambda root: (root / NOTES).write_text("mine"),
        lambda root: (root / NOTES).chmod(0o400),
        lambda root: (root / NOTES).unlink(),
        lambda root: ((root / APP).unlink(), (root / APP).symlink_to(root / NOTES)),
        lambda root: (root / "again.md").hardlink_to(root / NOTES),
        lambda root: ((root / APP).unlink(), (root / APP).mkdir()),
        lambda root: ((root / NOTES).unlink(), (root / "docs").rmdir(), (root / "docs").write_text("a file")),
        made_a_folder,
        lambda root: os.utime(root / APP, ns=(0, 0)),
        lambda root: (root / NOTES).write_bytes(b"\xff"),
    ],
)
def test_an_episode_finds_nothing_of_the_one_before(what: Callable[[Path], object]) -> None:
    leaves(what)


def test_one_directory_serves_all_episodes_of_a_worker_and_is_gone_afterwards(temporary: Path) -> None:
    with Runner(Looks) as runner:
        runner.run()
        [made] = temporary.iterdir()
        runner.run()
        assert list(temporary.iterdir()) == [made]
    assert list(temporary.iterdir()) == []


CHILD = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from fencecheck.integrations.file_directory import Directory
directory = Directory()
(directory.root / "file").write_text("x")
print(directory.root, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(file_directory.fcntl is None, reason="no flock on this platform")
def test_what_a_killed_process_leaves_behind_is_removed_by_the_next_and_what_a_living_one_has_is_not(temporary: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(temporary)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        root = Path(child.stdout.readline().strip())
        Directory().close()
        assert (root / "file").exists()
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert (root / "file").exists()
        Directory().close()
        assert not root.exists()


def test_a_process_that_ends_without_closing_it_removes_it(temporary: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD, str(temporary)], input="", capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()


# -- which version something was made from -------------------------------------------------------------------------------------------


class Sends(FileSystem):
    """Reads with `tool`, writes what `made` makes of the answer."""

    files = {NOTES: ""}

    def run(self) -> None:
        text = self.kit.read(NOTES, via=lambda: self.tool())
        self.kit.point("the model thinks")
        self.kit.act("write", {"path": NOTES, "content": self.made(text)}, via=lambda: None)

    def tool(self) -> Any:
        return (self.root / NOTES).read_text()

    def made(self, answer: Any) -> Any:
        return f"{answer}done\n"


def versions_of(system: type[FileSystem], *events: Event) -> tuple[str | None, dict[str, tuple[str, ...]] | None]:
    """Which version was read, and which went out."""
    with Runner(system) as runner:
        entries = runner.run((), events).entries
    [read] = [entry.version for entry in entries if type(entry) is Read]
    [sent] = [entry.versions for entry in entries if type(entry) is Act]
    return read, sent


def variant(**methods: Any) -> type[FileSystem]:
    return type("Variant", (Sends,), methods)


@pytest.mark.parametrize(
    "tool",
    [
        lambda self: (self.root / NOTES).read_bytes(),
        lambda self: "\n".join(f"{n:>4}\t{line}" for n, line in enumerate((self.root / NOTES).read_text().splitlines(), 1)),
        lambda self: {"content": (self.root / NOTES).read_text(), "truncated": False},
        lambda self: (self.root / NOTES).read_text().splitlines()[3],
        lambda self: os.stat(self.root / NOTES),
        lambda self: None,
    ],
)
def test_an_answer_of_a_reading_tool_shows_its_version_in_any_form(tool: Any) -> None:
    assert versions_of(variant(tool=tool), Event(0, Update(NOTES)))[0] == f"{NOTES}@2"


def test_a_tool_that_answers_from_a_cache_is_found_out() -> None:
    cached = variant(tool=lambda self: self.kit.scenario.values[NOTES][0])
    assert versions_of(cached, Event(0, Update(NOTES)))[0] == f"{NOTES}@1"


@pytest.mark.parametrize("answer", [None, False, "", ()])
def test_a_tool_that_says_that_nothing_is_there(answer: Any) -> None:
    assert (
        versions_of(variant(tool=lambda self: answer, made=lambda self, _: "new\n"), Event(0, Update(NOTES, "removed")))[0] == f"{NOTES}@2"
    )


@pytest.mark.parametrize(
    "made",
    [
        lambda self, text: f"{text}done\n",
        lambda self, text: [{"old": text.splitlines()[2], "new": "- done"}],
        lambda self, text: text.replace("#", "##").encode(),
        lambda self, text: "written from nothing that stood there\n",
    ],
)
def test_what_goes_out_shows_what_it_was_made_from(made: Any) -> None:
    assert versions_of(variant(made=made), Event(0, Update(NOTES)), Event(2, Update(NOTES))) == (f"{NOTES}@2", {NOTES: (f"{NOTES}@2",)})


def test_what_was_read_again_does_not_make_an_old_plan_new() -> None:
    class ReadsAgain(Sends):
        def run(self) -> None:
            content = self.read(NOTES)
            self.kit.point("the model thinks")
            self.read(NOTES)
            self.kit.validated([NOTES])
            self.write(NOTES, f"{content}done\n")

    report = check(ReadsAgain, fresh_process=False, max_events=1)
    assert [(failure.code, failure.events) for failure in report.failures] == [("stale-act", (Event(2, Update(NOTES)),))]


@pytest.mark.parametrize("shows", ["basis", "plan"])
def test_a_basis_or_a_plan_says_more_than_the_content(shows: str) -> None:
    class Plans(Sends):
        def run(self) -> None:
            content = self.read(NOTES)
            version = self.version(content)
            plan = self.kit.derive("add a line", [(NOTES, version)])
            self.kit.point("the model thinks")
            given: dict[str, Any] = {"basis": {NOTES: version}} if shows == "basis" else {"plan": plan}
            self.write(NOTES, self.read(NOTES) + "done\n", **given)

    with Runner(Plans) as runner:
        judgement = judge(runner.run((), (Event(2, Update(NOTES)),)))
    assert {finding.code for finding in judgement.findings} == {"stale-act", "provenance-mismatch"}


def test_an_agent_that_edits_what_it_wrote_itself_is_current() -> None:
    class EditsTwice(Sends):
        actions = (writes("write"), writes("patch"))

        def run(self) -> None:
            content = f"{self.read(NOTES)}done\n"
            self.write(NOTES, content)
            self.write(NOTES, content.replace("done", "done twice"), action="patch")

    with Runner(EditsTwice) as runner:
        judgement = judge(runner.run())
    assert (judgement.outcome, judgement.findings) == ("completed", [])


def test_an_agent_that_deletes_a_file_left_nothing_there() -> None:
    class Deletes(Sends):
        def run(self) -> None:
            self.read(NOTES)
            self.kit.act("write", {"path": NOTES}, via=(self.root / NOTES).unlink)
            self.kit.point("later")

    with Runner(Deletes) as runner:
        history = runner.run()
    assert history.records[f"{NOTES}@2"].removed


# -- what a team declares ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [NOTES, "app.py", "app.ts", "q.sql", "index.html", "a.css", "a.yaml", "Makefile"])
def test_each_version_of_a_file_has_texts_that_no_other_one_has(path: str) -> None:
    for given in ("", "first line\n", "one {text} two {text}\n", ["a\nb\n", "a\nc\n"]):
        contents = contents_of(path, given)
        assert len(set(contents.versions)) == len(contents.versions) == (VERSIONS if isinstance(given, str) else 2)
        for i, marks in enumerate(contents.marks):
            assert marks
            assert [mark in text for mark in marks for text in contents.versions].count(True) == len(marks)
            assert all(mark in contents.versions[i] for mark in marks)


def test_a_text_that_is_given_stays_as_it_is() -> None:
    first = contents_of("app.py", "print('hello')\n").versions[0]
    assert first.startswith("print('hello')\n# ")
    assert contents_of("a.json", '{"note": "{text}"}').versions[0].startswith('{"note": "')


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"files": {"/etc/passwd": ""}}, "the path '/etc/passwd' of files must be relative to root"),
        ({"files": {"../up.md": ""}}, "the path '../up.md' of files must be relative to root"),
        ({"files": {"a/./b": ""}}, "the path 'a/./b' of files must be relative to root"),
        ({"files": {"a.json": "{}"}}, "no comment can be added to 'a.json'.*let its content hold {text}"),
        ({"files": {"a.md": []}}, "the content of 'a.md' is a text, or a list of texts"),
        ({"files": {"a.md": b"x"}}, "the content of 'a.md' is a text, or a list of texts"),
        ({"files": [NOTES]}, "files maps paths to their content"),
        ({"files": {"nul\0.md": ""}}, "no file can have the path 'nul.x00.md' of files"),
        ({"files": {"\ud800.md": ""}}, "no file can have the path '.ud800.md' of files"),
        ({"files": {"x" * 256: ""}}, "no file can have the path .*each part is a text of at most 255 bytes"),
        ({"files": {"a": "", "a/b": ""}}, "files has 'a' and 'a/b', and nothing is both a file and a folder"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_a_sentence(attributes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Runner(variant(**attributes))


@pytest.mark.parametrize("path", ["-rf", "a\nb.md", "...", "e\u0301.md", "x" * 255, "*", "~", "a\\b", "lock"])
def test_any_name_of_a_file_will_do(path: str) -> None:
    with Runner(type("Named", (Looks,), {"files": {path: ""}, "looks_at": path})) as runner:
        history = runner.run()
    assert (history.ended.how, len(history.effects)) == ("returned", 1)


# -- agents that leave their directory, or spoil it ------------------------------------------------------------------------------------------


class Spoils(FileSystem):
    """Reads the notes, does something, and says that it wrote."""

    files = {"notes.md": "", "in/app.py": "pass"}

    def run(self) -> None:
        content = self.read("notes.md")
        self.spoil()
        self.kit.act("write", {"path": "notes.md", "content": content}, via=lambda: None)

    def spoil(self) -> None:
        raise NotImplementedError


def spoiling(spoil: Callable[[Any], object]) -> type[FileSystem]:
    return type("Spoiling", (Spoils,), {"spoil": lambda self: spoil(self)})


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Files of somebody's, which stay as they are."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "app.py").write_text("precious")
    was = (folder / "app.py").stat()
    yield folder
    assert [path.name for path in folder.iterdir()] == ["app.py"]
    assert (folder / "app.py").read_text() == "precious"
    assert (folder / "app.py").stat().st_mtime_ns == was.st_mtime_ns


def replaced_by_a_link(agent: Any, path: str, to: Path) -> None:
    shutil.rmtree(agent.root / path) if (agent.root / path).is_dir() else (agent.root / path).unlink()
    (agent.root / path).symlink_to(to)


@pytest.mark.parametrize("how", ["fresh", "removed", *HOWS])
@pytest.mark.parametrize("link", ["in", "in/app.py"])
def test_nobody_changes_what_a_link_leads_to_outside(how: str, link: str, elsewhere: Path) -> None:
    to = elsewhere if link == "in" else elsewhere / "app.py"
    agent = spoiling(lambda agent: replaced_by_a_link(agent, link, to))
    with Runner(agent) as runner:
        if (how, link) == ("removed", "in/app.py"):  # the link itself is
            assert runner.run((), (Event(1, Update("in/app.py", how)),)).ended.how == "returned"
            return
        with pytest.raises((BadInput, CouldNotRun), match=r"the agent made 'in(/app\.py)?' a link out of its directory"):
            runner.run((), (Event(1, Update("in/app.py", how)),))


@pytest.mark.parametrize("path", ["", "in", "in/app.py"])
def test_the_next_episode_removes_the_link_and_not_what_it_leads_to(path: str, elsewhere: Path) -> None:
    to = elsewhere / "app.py" if path == "in/app.py" else elsewhere
    with Runner(spoiling(lambda agent: replaced_by_a_link(agent, path, to))) as runner:
        assert [runner.run().ended.how for _ in range(2)] == ["returned"] * 2


def many_folders(agent: Any) -> None:
    """More of them in each other than a path can name, or a function call itself."""
    folder = os.open(agent.root, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("folder", dir_fd=folder)
        inner = os.open("folder", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)


SPOILT: dict[str, Callable[[Any], object]] = {
    "the whole directory is gone": lambda agent: shutil.rmtree(agent.root.parent),
    "another one stands in its place": lambda agent: (shutil.rmtree(agent.root.parent), agent.root.mkdir(parents=True)),
    "folders in each other": many_folders,
    "a pipe in the place of a file": lambda agent: ((agent.root / "notes.md").unlink(), os.mkfifo(agent.root / "notes.md")),
    "a folder in the place of a file": lambda agent: ((agent.root / "notes.md").unlink(), (agent.root / "notes.md").mkdir()),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_directory_that_an_agent_spoils_is_whole_again(spoil: Callable[[Any], object]) -> None:
    with Runner(spoiling(spoil)) as runner:
        histories = [runner.run() for _ in range(2)]
    assert [history.ended.how for history in histories] == ["returned"] * 2
    assert [type(history.entries[0]) for history in histories] == [Read] * 2


def test_an_agent_that_goes_into_the_directory_is_brought_back() -> None:
    began, went = os.getcwd(), []

    def goes(agent: Any) -> None:
        went.append(os.getcwd())
        os.chdir(agent.root)

    with Runner(spoiling(goes)) as runner:
        runner.run()
        runner.run()
    assert [*went, os.getcwd()] == [began] * 3


def test_a_version_that_came_and_went_between_two_ports_is_told() -> None:
    """As one does that a thread of the agent's writes while the kit looks."""

    class Unseen(Spoils):
        def run(self) -> None:
            path = self.root / "notes.md"
            content = self.read("notes.md")
            path.write_text("for a moment")
            self.true_head("notes.md")
            path.write_text(content)
            self.kit.act("write", {"path": "notes.md", "content": "new"}, via=lambda: None)

    with pytest.raises(CouldNotRun, match=r"'notes\.md' was written and written again between two calls"), Runner(Unseen) as runner:
        runner.run()


def test_a_file_that_grows_without_end_is_one_sentence() -> None:
    with (
        pytest.raises((BadInput, CouldNotRun), match=r"'notes\.md' has grown to 20,000 MiB, and is read at each point"),
        Runner(spoiling(lambda agent: os.truncate(agent.root / "notes.md", 20_000 * 1_048_576))) as runner,
    ):
        runner.run()


def test_an_adapter_without_files_is_refused() -> None:
    class NoFiles(FileSystem):
        def run(self) -> None:
            self.write(NOTES, "x")

    with pytest.raises(BadInput, match="NoFiles names no files"), Runner(NoFiles) as runner:
        runner.run()


def test_a_path_that_differs_in_each_process_is_refused() -> None:
    class Absolute(Sends):
        def run(self) -> None:
            self.kit.act("write", {"path": NOTES, "where": str(self.root / NOTES)}, via=lambda: None)

    with pytest.raises(CouldNotRun, match="is a path below root"), Runner(Absolute) as runner:
        runner.run()


def test_files_on_a_share_can_fail_to_answer() -> None:
    class OnAShare(Sends):
        cannot_happen = {}

        def run(self) -> None:
            content = self.kit.read(NOTES, timeout=5.0, via=lambda: (self.root / NOTES).read_text())
            if content is MALFORMED:
                raise OSError("garbage")
            self.write(NOTES, content)

    with Runner(Sends) as local, Runner(OnAShare) as share:
        assert set(share.kinds) - set(local.kinds) == {"outage", "restore", "missing-parent", "corrupt-parent"}
    report = check(OnAShare, fresh_process=False, max_events=1, kinds=["outage", "missing-parent"])
    assert (report.verdict, report.crash) == ("held", "")
    assert report.counts["halted_unverified"] > 0


def test_a_case_is_stored_and_replayed(tmp_path: Path) -> None:
    from fencecheck.codec import load_case
    from fencecheck.report.repro import save

    report = check(Sends, fresh_process=False, max_events=1)
    save(report, tmp_path / "cases")
    [stored] = (tmp_path / "cases").glob("*.json")
    assert replay(load_case(stored), Sends).status == "fails"


def test_an_append_is_declared_to_depend_on_nothing() -> None:
    assert (appends("log").depends_on, appends("log").by_arguments) == ((), False)
    assert writes("patch", times=3).true_keys({"path": NOTES}) == (NOTES,)


def test_a_file_that_the_agent_makes_itself_depends_on_nothing() -> None:
    class Makes(Sends):
        actions = (writes("write"), writes("make"))

        def run(self) -> None:
            self.write("./docs/../docs/notes.md", f"{self.read(NOTES)}done\n")
            self.write("summary.md", "done\n", action="make")

    with Runner(Makes) as runner:
        history = runner.run()
        judgement = judge(history)
    assert [entry.depends_on for entry in history.entries if type(entry) is Act] == [(NOTES,), ()]
    assert (judgement.outcome, judgement.findings) == ("completed", [])
    with (
        pytest.raises(CouldNotRun, match=r"'summary\.md' is none of its files: add it to files"),
        Runner(variant(run=reads_another)) as runner,
    ):
        runner.run()


def reads_another(self: FileSystem) -> None:
    self.kit.read("summary.md", via=lambda: "x")


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited_and_in_a_thread(runtime: Any) -> None:
    class Awaits(FileSystem):
        files = {NOTES: ""}

        async def run(self) -> None:
            content = await self.kit.aio.read(NOTES, via=self.read_in_a_thread)
            await self.kit.aio.point("the model thinks")
            await self.kit.aio.act("write", {"path": NOTES, "content": content}, via=lambda: self.write_later(content))

        async def read_in_a_thread(self) -> str:
            read = (self.root / NOTES).read_text
            if runtime == "trio":
                import trio

                return await trio.to_thread.run_sync(read)
            import asyncio

            return await asyncio.to_thread(read)

        async def write_later(self, content: str) -> None:
            (self.root / NOTES).write_text(content)

    Awaits.runtime = runtime
    report = check(Awaits, fresh_process=False, max_events=1, kinds=["update"])
    assert [(failure.code, failure.events) for failure in report.failures] == [("stale-act", (Event(2, Update(NOTES)),))]
