"""Stores of the tests of the checkpointer: opened here, and used through the socket of that one."""

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite")

import milepost


def is_left_out(params):
    """Over the socket each durability has one form: asyncio the default one, threads the others."""
    is_async = params.get("is_async", params.get("keep"))
    if params.get("module_store") != "socket" or is_async is None:
        return False
    if "durability" not in params:
        return is_async
    return is_async != (params["durability"] == "async")


def pytest_collection_modifyitems(config, items):
    out = [one for one in items if hasattr(one, "callspec") and is_left_out(one.callspec.params)]
    config.hook.pytest_deselected(items=out)
    items[:] = [one for one in items if one not in set(out)]


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch):
    """Keeps keys and anchors in the folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["native", "socket"])
def mode(request):
    return request.param


@pytest.fixture(scope="module", params=["native", "socket"])
def module_store(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with milepost.open(folder / "store") as native:
            if request.param == "native":
                yield native
                return
            with milepost.open(folder / "store") as other:
                assert not other.is_local
                yield other


@pytest.fixture
def shared(module_store):
    """A store in one of the two modes, which the tests of a module empty and share: opening one
    costs more than most graphs."""
    yield module_store
    for task in list(module_store.tasks()):
        module_store.delete_task(task.id)


@pytest.fixture
def pair(tmp_path):
    """A store, and the same one through its socket."""
    with milepost.open(tmp_path / "store") as native, milepost.open(tmp_path / "store") as other:
        assert native.is_local and not other.is_local
        yield native, other


@pytest.fixture
def store(mode, tmp_path):
    """A store in one of the two modes."""
    with milepost.open(tmp_path / "store") as native:
        if mode == "native":
            yield native
            return
        with milepost.open(tmp_path / "store") as other:
            assert not other.is_local
            yield other
