#!/usr/bin/env python3
"""Adds a field to a structure in a copy of the tree, and compares the functions that do not compile without
it with the list of the structure: what copies it names each of its fields.

    tests/probes/field.py mark|tool_returned [--update]

Each place that the compiler reports is completed, until the workspace compiles: a crate is compiled only
once those below it are.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By name: the file of the structure, and its declaration.
STRUCTURES = {
    "mark": ("codec/src/checkpoint.rs", "pub struct CheckpointMarked {\n"),
    "tool_returned": ("codec/src/body/kinds.rs", "pub struct ToolReturned {\n"),
}
FIELD = "    /// The probe.\n    #[serde(default)]\n    pub probe: bool,\n"
# A pattern without the field, and a value without it.
MISSING = {"E0027": "probe: _, ", "E0063": "probe: false, "}


def copied(into: pathlib.Path) -> None:
    files = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT)
    tar = ["tar", "--create", "--null", "--files-from=-", "--ignore-failed-read"]
    packed = subprocess.run(tar, cwd=ROOT, input=files, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "--extract"], cwd=into, input=packed.stdout, check=True)


def missing(tree: pathlib.Path) -> tuple[list[tuple[pathlib.Path, int, str]], list[str]]:
    """Returns file, byte and text of each completion, and the other errors."""
    check = ["cargo", "check", "--quiet", "--workspace", "--locked", "--keep-going"]
    check.append("--message-format=json")
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "probes"))
    env = {**os.environ, "CARGO_TARGET_DIR": target, "RUSTFLAGS": ""}
    done = subprocess.run(check, check=False, cwd=tree, env=env, stdout=subprocess.PIPE)
    failed = done.returncode != 0
    found, others = set(), []
    for line in done.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") != "error":
            continue
        code = (message.get("code") or {}).get("code")
        spans = [span for span in message["spans"] if span["is_primary"]]
        if code in MISSING and "`probe`" in message["message"] and spans:
            path = tree / spans[0]["file_name"]
            opened = path.read_bytes().index(b"{", spans[0]["byte_start"])
            found.add((path, opened + 1, " " + MISSING[code]))
        else:
            others.append(message.get("rendered") or message["message"])
    if failed and not found and not others:
        others.append("cargo failed, and named no error\n")
    return sorted(found), others


def function_at(text: bytes, byte: int) -> str:
    names = re.findall(rb"\bfn (\w+)", text[:byte])
    return names[-1].decode() if names else "-"


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in STRUCTURES:
        print(f"tests/probes/field.py {'|'.join(STRUCTURES)} [--update]", file=sys.stderr)
        return 2
    list_of = pathlib.Path(__file__).with_name(f"{name}.txt")
    file, declared = STRUCTURES[name]
    places = set()
    with tempfile.TemporaryDirectory(prefix="milepost-probe-") as folder:
        tree = pathlib.Path(folder)
        copied(tree)
        text = (tree / file).read_text()
        assert text.count(declared) == 1, f"{name} is declared elsewhere"
        (tree / file).write_text(text.replace(declared, declared + FIELD))
        while True:
            found, others = missing(tree)
            if not found:
                break
            # From the end of each file on, so that the bytes before stay where they are.
            for path, byte, completion in reversed(found):
                content = path.read_bytes()
                if content[byte : byte + len(completion)] == completion.encode():
                    print(f"{path.relative_to(tree)}: a field does not complete it", file=sys.stderr)
                    return 1
                places.add(f"{path.relative_to(tree)} {function_at(content, byte)}")
                path.write_bytes(content[:byte] + completion.encode() + content[byte:])
    if others:
        print("".join(others), file=sys.stderr)
        return 1
    listed = "".join(f"{place}\n" for place in sorted(places))
    if "--update" in sys.argv:
        list_of.write_text(listed)
    expected = list_of.read_text()
    if listed == expected:
        print(f"{len(places)} functions name each field of {name}")
        return 0
    for place in sorted(set(expected.splitlines()) ^ places):
        print(("compiles without a new field: " if place not in places else "new: ") + place)
    return 1


if __name__ == "__main__":
    sys.exit(main())
