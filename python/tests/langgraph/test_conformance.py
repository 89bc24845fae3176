"""The conformance suite of LangGraph, test by test."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from langgraph.checkpoint.conformance.capabilities import Capability, DetectedCapabilities
from langgraph.checkpoint.conformance.spec import __name__ as SPEC

import milepost
from milepost.langgraph import MilepostSaver


def listed() -> list[Any]:
    """Returns the tests of all capabilities."""
    found = []
    for capability in Capability:
        module = importlib.import_module(f"{SPEC}.test_{capability.value}")
        tests = getattr(module, f"ALL_{capability.value.upper()}_TESTS")
        found += [pytest.param(one, id=f"{capability.value}-{one.__name__}") for one in tests]
    return found


TESTS = listed()


@pytest.fixture(scope="module", params=["native", "socket"])
def saver(request, tmp_path_factory):
    """One for all tests, so that they see each other's threads."""
    folder = tmp_path_factory.mktemp("conformance")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        with milepost.open(folder / "store") as native:
            if request.param == "native":
                yield MilepostSaver(native)
                return
            with milepost.open(folder / "store") as other:
                yield MilepostSaver(other)


def test_all_eight_capabilities_are_there_with_their_eighty_one_tests(saver):
    found = DetectedCapabilities.from_instance(saver)
    assert not found.missing and len(found.detected) == 8
    assert len(TESTS) == 81


@pytest.mark.parametrize("test", TESTS)
async def test_it_conforms(test, saver):
    await test(saver)
