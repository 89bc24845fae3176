"""Stores and tasks: the same in this process, through a socket, and by a service."""

import json
import os
import re
import subprocess
import sys
from datetime import timedelta

import pytest

import milepost
from milepost import events


@pytest.fixture(params=["native", "socket", "service"])
def store(request, tmp_path, monkeypatch):
    """A store in this process, through the socket of this process, and by `milepost serve`."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "service":
        command = os.environ.get("MILEPOST")
        if not command:
            pytest.skip("MILEPOST names no command")
        arguments = ["--store", tmp_path / "store", "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(
            [command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as service:
            said = ""
            while not (address := re.search(r"http://[\d.]+:\d+", said)):
                line = service.stdout.readline()
                assert line, said
                said += line
            with milepost.connect(address[0]) as store:
                yield store
            service.terminate()
        return
    with milepost.open(tmp_path / "store") as native:
        if request.param == "native":
            yield native
            return
        with milepost.open(tmp_path / "store") as store:
            assert not store.is_local
            yield store


def test_events_are_read_as_they_were_appended(store):
    task = store.start("t", user="ana")
    given = [
        events.message("user", "hi", name="ana", extra=[1, 2.5, None]),
        events.tool_called("c1", "search", {"q": "rain"}),
        events.tool_returned("c1", {"hits": 3}),
        events.step_started(1, name="draft", iteration=2),
        events.step_finished(1, metrics={"loss": 0.5}),
        events.step_failed(2, "no disk"),
        events.phase("write", iteration=2),
        events.prompt("Write."),
        events.variables(score=1, gone=None),
        events.variables([{"op": "add", "path": "/list", "value": [1]}]),
        events.artifacts(text="essay"),
        events.application("my.json", {"a": [True]}),
        events.application("my.bytes", bytes(range(256))),
    ]
    appended = task.append(given)
    assert (appended.first, appended.head) == (1, len(given) + 1)
    found = list(task.events(1))
    assert [event.offset for event in found] == list(range(1, len(given) + 1))
    for event, (kind, fields) in zip(found, given, strict=True):
        if isinstance(fields, bytes):
            assert (event.kind, event.name, event.data) == ("application", kind, fields)
            continue
        assert event.kind == kind
        assert (
            fields.items() <= {"form": "merge", **event.body}.items() or kind == "variables_patched"
        )
    assert task.state("/variables") == {"score": 1, "list": [1]}
    assert [one.offset for one in task.events(1, kinds=["message", "prompt_changed"])] == [1, 8]
    assert task.info().user == "ana"


def test_an_append_under_a_key_takes_effect_once(store):
    task = store.start("t")
    first = task.append(events.message("user", "a"), key="k", checkpoint=milepost.mark("one"))
    again = task.append(events.message("user", "a"), key="k", checkpoint=milepost.mark("one"))
    assert again.repeated and not first.repeated
    assert (again.first, again.head, again.checkpoint) == (
        first.first,
        first.head,
        first.checkpoint,
    )
    with pytest.raises(milepost.ConflictError):
        task.append(events.message("user", "b"), key="k")


def test_another_head_than_the_expected_one_is_a_conflict_that_names_it(store):
    task = store.start("t")
    task.append(events.message("user", "a"), expected_head=1)
    with pytest.raises(milepost.ConflictError) as caught:
        task.append(events.message("user", "b"), expected_head=1)
    assert caught.value.head == task.head() == 2


def test_a_restore_can_be_undone_and_redone(store):
    task = store.start("t")
    task.append(events.variables(n=1), checkpoint=milepost.mark("one"))
    task.append(events.variables(n=2))
    restored = store.restore("t@one", description="two was worse")
    assert restored.state("/variables/n") == task.state("/variables/n") == 1
    assert task.undo().state("/variables/n") == 2
    assert task.redo().state("/variables/n") == 1
    assert task.switch(0).state("/variables/n") == 2
    assert task.lineages()[1].description == "two was worse"


def test_a_branch_leaves_the_active_lineage_as_it_is(store):
    task = store.start("t")
    task.append(events.variables(n=1), checkpoint=milepost.mark("one"))
    with_events = store.branch(
        "t@one", events.variables(n=5), checkpoint=milepost.mark("five"), key="b"
    )
    assert with_events.state("/variables/n") == 5
    assert (
        store.branch(
            "t@one", events.variables(n=5), checkpoint=milepost.mark("five"), key="b"
        ).address
        == with_events.address
    )
    empty = store.branch("t@one", description="empty")
    empty.append(events.variables(n=7))
    assert (empty.state("/variables/n"), task.state("/variables/n")) == (7, 1)
    assert [one.active for one in task.lineages()] == [True, False, False]


def test_checkpoints_are_found_by_alias_metadata_and_order(store):
    task = store.start("t")
    for n in range(5):
        task.append(events.variables(n=n))
        task.checkpoint(f"label-{n}", metadata={"even": n % 2 == 0}, aliases=[f"id-{n}"])
    assert [one.label for one in task.checkpoints(filter={"even": True})] == [
        "label-4",
        "label-2",
        "label-0",
    ]
    ordered = task.checkpoints(order="alias", before="id-3")
    assert [one.aliases[0] for one in ordered] == ["id-2", "id-1", "id-0"]
    assert next(iter(store.checkpoints(task="t", alias="id-1"))).label == "label-1"
    assert store.remove_checkpoints(task="t", filter={"even": False}) == 2
    assert len(list(store.checkpoints(task="t"))) == 3
    assert store.checkpoint("id-2").metadata == {"even": True}


def test_each_state_is_that_of_its_checkpoint(store):
    task = store.start("t")
    for n in range(30):
        task.append(events.variables(n=n), checkpoint=milepost.mark(f"s{n}"))
    states = list(task.states())
    assert [(one.label, state["variables"]["n"]) for one, state in states] == [
        (f"s{n}", n) for n in range(30)
    ]
    assert states[7][1] == store.state(states[7][0])
    assert [change.path for change in store.diff("t@s1", "t@s2")] == ["/variables/n"]
    blame = store.blame("t", "/variables/n", history=True)
    assert (blame.value, len(blame.changes)) == (29, 30)


@pytest.mark.parametrize("first_bad", range(1, 12))
def test_bisection_finds_the_first_bad_checkpoint(store, first_bad):
    task = store.start("t")
    for n in range(12):
        task.append(events.variables(n=n), checkpoint=milepost.mark(f"s{n}"))
    found = store.bisect("t@s0", "t@s11", lambda one, state: state["variables"]["n"] < first_bad)
    assert (found.good.label, found.bad.label) == (f"s{first_bad - 1}", f"s{first_bad}")
    assert found.tested <= 4


def test_attachments_count_first_and_last_and_may_come_before_their_mark(store):
    task = store.start("t")
    write = milepost.Attachment("w", 0, b"\0\xff", "channel")
    assert task.attach("id", write) == 1
    task.append(events.message("user", "x"), checkpoint=milepost.mark(aliases=["id"]))
    assert (
        task.attach(
            "id", [milepost.Attachment("w", 0, b"late"), milepost.Attachment("w", -1, {"n": 1})]
        )
        == 1
    )
    assert task.attach("id", milepost.Attachment("w", -1, {"n": 2})) == 1
    assert task.attached("id") == [write, milepost.Attachment("w", -1, {"n": 2})]


def test_work_is_done_once_for_a_key(store):
    task = store.start("t")
    calls = []
    for _ in range(3):
        assert task.once("key", lambda: calls.append(1) or {"n": 7}) == {"n": 7}
    assert calls == [1]
    with pytest.raises(milepost.InvalidError):
        task.once("other", lambda: object())


def test_a_reducer_of_python_folds_the_events(store):
    class Words:
        def initial(self):
            return []

        def apply(self, state, event):
            return [*state, event.body["content"]] if event.kind == "message" else state

    task = store.start("t")
    for word in ("a", "b", "c"):
        task.append(events.message("user", word))
    assert task.fold(Words()) == ["a", "b", "c"]
    assert task.fold(Words(), 3) == ["a", "b"]


def test_a_follower_gets_what_is_there_and_what_comes_across_a_restore(store):
    task = store.start("t")
    task.append(events.message("user", "a"), checkpoint=milepost.mark("one"))
    follower = task.follow(1)
    assert next(follower).body["content"] == "a"
    task.append(events.message("user", "b"))
    assert [next(follower).kind, next(follower).body["content"]] == ["checkpoint_marked", "b"]
    store.restore("t@one").append(events.message("user", "c"))
    assert any(event.kind == "message" and event.body["content"] == "c" for event in follower)
    assert list(task.follow(task.head(), timeout=0.01)) == []


def test_control_moves_between_its_states_only(store):
    task = store.start("t")
    assert [task.control("running"), task.control("paused", reason="lunch"), task.control()] == [
        "running",
        "paused",
        "paused",
    ]
    task.control("stopped")
    with pytest.raises(milepost.ConflictError):
        task.control("paused")
    task.guide("shorter")
    assert "shorter" in json.dumps(task.state())


def test_tasks_are_listed_by_prefix_and_deleted(store):
    for id in ("b-2", "a-1", "b-1"):
        store.start(id)
    assert [one.id for one in store.tasks(prefix="b-")] == ["b-1", "b-2"]
    assert [one.id for one in store.tasks()] == ["b-1", "a-1", "b-2"]
    store.delete_task("b-1")
    with pytest.raises(milepost.NotFoundError):
        store.task("b-1")
    assert store.task_or_start("b-2").id == "b-2"
    with pytest.raises(milepost.ConflictError):
        store.start("b-2", user="else")


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (lambda store, task: store.task("none"), milepost.NotFoundError),
        (lambda store, task: store.state("t@none"), milepost.NotFoundError),
        (lambda store, task: store.state("t@99"), milepost.InvalidError),
        (lambda store, task: task.append([]), milepost.InvalidError),
        (lambda store, task: task.append(("no_such_kind", {})), milepost.InvalidError),
        (lambda store, task: task.append(("message", {"rolle": "x"})), milepost.InvalidError),
        (lambda store, task: task.append(events.application("x", object())), ValueError),
        (lambda store, task: task.append(7), milepost.InvalidError),
        (lambda store, task: task.checkpoint("7"), milepost.InvalidError),
        (
            lambda store, task: task.checkpoint("x", metadata={"a": "b" * 70_000}),
            milepost.InvalidError,
        ),
        (lambda store, task: task.switch(9), milepost.NotFoundError),
        (lambda store, task: store.bisect("t", "t", lambda *_: True), ValueError),
        (lambda store, task: task.undo(), milepost.InvalidError),
    ],
)
def test_what_cannot_be_done_says_so_and_changes_nothing(store, work, kind):
    task = store.start("t")
    with pytest.raises(kind) as caught:
        work(store, task)
    assert str(caught.value)
    assert task.head() == 1


def test_a_folder_goes_back_with_the_state(store, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    page = folder / "page"
    page.write_text("one")
    task = store.start("t")
    if store._native.is_service:
        pytest.skip("a service at an address has its own folders")
    task.append(events.variables(n=1))
    assert (
        store.capture(folder, "t", label="one")
        == store.checkpoint(store.point("t@one").checkpoint).id
    )
    page.write_text("two")
    task.append(events.variables(n=2))
    with pytest.raises(milepost.ConflictError) as caught:
        store.rollback("t@one", folder)
    assert caught.value.paths == ["page"]
    assert (page.read_text(), task.state("/variables/n")) == ("two", 2)
    store.rollback("t@one", folder, theirs=["page"])
    assert (page.read_text(), task.state("/variables/n")) == ("one", 1)


def test_values_are_tables_in_a_notebook(store):
    task = store.start("t")
    task.append(events.variables(text="<b>"), checkpoint=milepost.mark("one", aliases=["<i>"]))
    task.append(events.variables(text="&"))
    checkpoint = next(iter(task.checkpoints()))
    for value in (
        checkpoint,
        task,
        task.lineages()[0],
        store.diff("t@one", "t"),
        store.blame("t", "/variables/text"),
    ):
        shown = value._repr_html_()
        assert shown.startswith("<table>") and "<b>" not in shown and "<i>" not in shown
        assert "t" in repr(value)
    assert str(store.diff("t@one", "t")) == "~ /variables/text: <b> -> &"


def test_a_cleanup_keeps_the_newest_checkpoints_and_those_that_are_young(store):
    for id in ("1", "t"):
        task = store.start(id)
        for n in range(5):
            task.append(events.variables(n=n), checkpoint=milepost.mark(f"s{n}"))
    plan = store.cleanup(keep=2, dry_run=True)
    assert sorted((one.id, one.removed, one.kept, one.pinned) for one in plan) == [
        ("1", 3, 2, 0),
        ("t", 3, 2, 0),
    ]
    assert len(list(task.checkpoints())) == 5
    assert [one.removed for one in store.cleanup(keep=2, task="t")] == [3]
    assert [one.label for one in task.checkpoints()] == ["s4", "s3"]
    assert len(list(store.task("1").checkpoints())) == 5
    young = store.cleanup(younger_than=timedelta(days=1))
    assert sorted((one.id, one.removed, one.kept) for one in young) == [("1", 0, 5), ("t", 0, 2)]
    for wrong in ({}, {"younger_than": timedelta(0)}, {"younger_than": timedelta(days=-1)}):
        with pytest.raises(milepost.InvalidError):
            store.cleanup(**wrong)


def test_a_task_is_copied_and_what_is_named_is_removed(store):
    task = store.start("t")
    for n in range(5):
        task.append(events.variables(n=n), checkpoint=milepost.mark(f"s{n}", aliases=[f"id-{n}"]))
    task.attach("id-1", milepost.Attachment("w", 0, b"pending"))
    copy = store.copy_task("t", "copy")
    assert [one.label for one in copy.checkpoints()] == [one.label for one in task.checkpoints()]
    gone = [next(iter(copy.checkpoints(alias=f"id-{n}"))).id for n in (0, 2, 3)]
    store.clean_up("copy", gone)
    store.clean_up("copy", gone)
    assert [one.label for one in copy.checkpoints()] == ["s4", "s1"]
    assert copy.attached("id-1") == task.attached("id-1")
    assert copy.state("/variables/n") == 4
    with pytest.raises(milepost.ConflictError):
        store.copy_task("t", "copy")
    with pytest.raises(milepost.NotFoundError):
        store.copy_task("none", "other")


def test_bisection_goes_through_the_ancestors_of_a_fork(store):
    task = store.start("t")
    for n in range(4):
        task.append(events.variables(n=n), checkpoint=milepost.mark(f"m{n}"))
    fork = store.branch("t@m3")
    for n in range(100, 104):
        fork.append(events.variables(n=n), checkpoint=milepost.mark(f"f{n}"))
    for first_bad, names in ((2, ("m1", "m2")), (100, ("m3", "f100")), (103, ("f102", "f103"))):
        found = store.bisect(
            "t@m0", fork.address, lambda one, state, bad=first_bad: state["variables"]["n"] < bad
        )
        assert (found.good.label, found.bad.label) == names
    with pytest.raises(ValueError, match="history"):
        store.bisect(f"{fork.address}", "t@m3", lambda *_: True)


@pytest.mark.parametrize("id", ["a/1", "ana@x.org", "50%", "~1", "a b?#é"])
def test_a_task_id_may_have_any_characters(store, id):
    store.start("a")
    store.branch("a")
    task = store.start(id)
    task.append(events.variables(n=1), checkpoint=milepost.mark("one"))
    assert (task.state("/variables/n"), task.head()) == (1, 3)
    branch = store.branch(task.address, events.variables(n=2))
    assert (branch.id, branch.state("/variables/n")) == (id, 2)
    assert store.restore(next(task.checkpoints())).state("/variables/n") == 1
    assert task.lineages()[1].address == branch.address


def test_an_export_is_imported_with_the_same_events(store, tmp_path):
    task = store.start("t", user="ana")
    secret = "sk-ant-api03-" + "a" * 80
    task.append([events.message("user", secret), events.step_finished(1)], checkpoint="one")
    task.export(tmp_path / "t.jsonl")
    with pytest.raises(FileExistsError):
        task.export(tmp_path / "t.jsonl")
    with pytest.raises(milepost.InvalidError, match="no files"):
        task.export(tmp_path / "no", files=True, redact=True)
    assert not (tmp_path / "no").exists()
    assert not list(tmp_path.glob(".milepost-*.part"))
    task.export(tmp_path / "redacted.jsonl", redact=True)
    assert secret not in (tmp_path / "redacted.jsonl").read_text()

    command = [sys.executable, "-m", "milepost", "--store", tmp_path / "other"]
    line = [*command, "import", tmp_path / "t.jsonl", "--as", "copy"]
    subprocess.run(line, check=True, capture_output=True)
    with milepost.open(tmp_path / "other") as other:
        # The first event names what the copy is of.
        one, two = ([event.body for event in of.events(1)] for of in (task, other.task("copy")))
        assert one == two and secret in str(one)


def test_a_file_is_written_where_the_file_system_has_no_links(store, tmp_path, monkeypatch):
    task = store.start("t", user="ana")

    def refused(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refused)
    task.export(tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_bytes().startswith(b'{"milepost_export":1,')
    assert not list(tmp_path.glob(".milepost-*.part"))
