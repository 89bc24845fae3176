"""The examples of docs/PYTHON.md, of the README and of the docstrings."""

import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

import milepost

ROOT = pathlib.Path(__file__).parent.parent.parent


def blocks(path: pathlib.Path) -> str:
    """Returns the blocks of a page as one program, with their lines where they are on the page."""
    program = []
    inside = False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            program.append("")
        else:
            program.append(line if inside else "")
    return "\n".join(program)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("page", ["docs/PYTHON.md", "python/README.md"])
def test_the_blocks_of_a_page_run_in_order(page):
    path = ROOT / page
    program = blocks(path)
    if "langgraph" in program:
        pytest.importorskip("langgraph.graph")
    exec(compile(program, str(path), "exec"), {"__name__": "__page__"})


FRAMEWORKS = {
    "langgraph": "langgraph.checkpoint",
    "optuna": "optuna",
    "claude": "claude_agent_sdk",
    "openai": "agents",
    "pydantic": "pydantic_ai",
    "gepa": "gepa",
}


@pytest.mark.parametrize(
    "module", ["__init__", "events", "logs", "reducers", "values", *FRAMEWORKS]
)
def test_the_examples_of_docstrings_are_right(module):
    if module in FRAMEWORKS:
        pytest.importorskip(FRAMEWORKS[module])
    name = "milepost" if module == "__init__" else f"milepost.{module}"
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_each_public_name_has_a_docstring():
    for name in dir(milepost):
        value = getattr(milepost, name)
        if name.startswith("_") or not callable(value):
            continue
        assert value.__doc__, name
        for member, method in vars(value).items() if isinstance(value, type) else ():
            if not member.startswith("_") and callable(method):
                assert method.__doc__, f"{name}.{member}"


def test_the_synchronous_classes_are_made_of_the_asynchronous_ones():
    tools = ROOT / "python" / "tools" / "sync.py"
    assert os.system(f"python3 {tools} --check") == 0


def test_the_version_is_that_of_the_wheel():
    assert re.fullmatch(r"\d+\.\d+\.\d+", milepost.__version__)


@pytest.mark.parametrize(
    ("example", "framework"),
    [
        ("langgraph/essay.py", "langgraph"),
        ("optuna/study.py", "optuna"),
        ("sdks/openai_session.py", "agents"),
        ("sdks/pydantic_conversation.py", "pydantic_ai"),
        ("sdks/claude_session.py", "claude_agent_sdk"),
        ("sdks/gepa_callback.py", "gepa"),
    ],
)
def test_an_example_runs(example, framework, tmp_path):
    pytest.importorskip(framework)
    # The name of an example's folder is that of a framework.
    run = [sys.executable, str(ROOT / "examples" / example), str(tmp_path / "kept")]
    (tmp_path / "kept").mkdir()
    package = pathlib.Path(milepost.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(
        run, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
