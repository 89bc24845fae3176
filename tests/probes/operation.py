#!/usr/bin/env python3
"""Adds the operation `echo` to a copy of the tree: its declaration, its work and its route. It is called in
the same process and over HTTP, and is in the OpenAPI document.

    tests/probes/operation.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from field import ROOT, copied

# The most hand-written files and lines of the product that an operation takes.
FILES, LINES = 3, 60
DECLARATION = """
call! {
    /// Returns the id of a task.
    Echo {
        /// The task's id
        task,
    }
    "echo" of "tasks": read get "/v1/tasks/{task}/echo" -> (String)
}
"""
WORK = """
impl Serve for milepost_api::calls::Echo {
    fn serve(self, view: &View<'_>) -> OperationResult<String> {
        Ok(view.task(&self.task)?.id().to_owned())
    }
}
"""
ROUTE = "        .routes(route::<milepost_api::calls::Echo>())\n"
TEST = """
#[tokio::test]
async fn echo() {
    let mut both = BothWays::new(Served::with_essay().await);
    for task in ["essay", "none"] {
        both.compare(milepost_client::calls::Echo::new(task)).await;
    }
    both.has_answered(&["echo"]);
    assert!(milepost_server::openapi().unwrap().contains("/v1/tasks/{task}/echo"));
}
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="milepost-probe-") as folder:
        tree = pathlib.Path(folder)
        copied(tree)
        product = {
            "api/src/calls/tasks.rs": DECLARATION,
            "service/src/operations/tasks.rs": WORK,
            "server/src/routes/v1/operations.rs": ROUTE,
        }
        for file, added in product.items():
            text = (tree / file).read_text()
            at = text.index("        .routes(") if added == ROUTE else len(text)
            (tree / file).write_text(text[:at] + added + text[at:])
        test = tree / "client/tests/service/both_ways.rs"
        test.write_text(test.read_text() + TEST)
        lines = sum(len(added.strip().splitlines()) for added in product.values())
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "probes"))
        run = ["cargo", "test", "--quiet", "--locked", "--package", "milepost-client"]
        run += ["--test", "service", "both_ways::echo"]
        env = {**os.environ, "CARGO_TARGET_DIR": target, "RUSTFLAGS": ""}
        done = subprocess.run(run, check=False, cwd=tree, env=env, stdout=subprocess.PIPE)
        print(done.stdout.decode(), end="")
    is_called = done.returncode == 0 and b"1 passed" in done.stdout
    print(f"an operation takes {len(product)} files and {lines} lines")
    return int(not is_called or len(product) > FILES or lines > LINES)


if __name__ == "__main__":
    sys.exit(main())
