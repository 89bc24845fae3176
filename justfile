# Everyday commands. `.ci/run` does the same steps without just.

# Format everything.
fmt:
    cargo fmt --all
    cargo fmt --manifest-path benches/Cargo.toml --all
    cargo fmt --manifest-path fuzz/Cargo.toml
    cargo fmt --manifest-path python/Cargo.toml
    cargo fmt --manifest-path tests/faults/Cargo.toml

# Lints, warnings denied.
lint:
    cargo clippy --workspace --all-targets -- --deny warnings
    cargo clippy --manifest-path benches/Cargo.toml --target-dir target --workspace --all-targets -- --deny warnings

# The small loop of a crate, by its folder, as in `just near store`: its lints, its tests, and the rules for
# names, sizes and prose. The first time builds what it depends on.
near CRATE:
    cargo clippy --package {{ if CRATE == "engine" { "milepost" } else { "milepost-" + CRATE } }} --all-targets -- --deny warnings
    cargo test --package {{ if CRATE == "engine" { "milepost" } else { "milepost-" + CRATE } }}
    cargo test --package milepost-tidy

# All tests.
test:
    cargo test --workspace

# The tests that inject faults, each with everything it has: hours.
nightly:
    MILEPOST_NIGHTLY=1 MILEPOST_CASES=20000 cargo test --package milepost-tests --release
    MILEPOST_NIGHTLY=1 cargo test --package milepost-server
    MILEPOST_HOSTILE_SECONDS=600 cargo test --package milepost-cli --release --test runner -- survives:: --nocapture
    tests/agents/install target/agents
    MILEPOST_AGENTS="$PWD/target/agents" MILEPOST_AGENTS_REQUIRED=1 MILEPOST_CASES=200 cargo test --workspace --test agents kills
    cargo build --profile dist -p milepost-cli
    cargo build --manifest-path benches/Cargo.toml --target-dir target --release
    MILEPOST=target/dist/milepost server/tests/schemathesis/run 250
    target/release/served lasting streams
    cargo check --manifest-path fuzz/Cargo.toml --target-dir target --all-targets
    just portable newest-agents more-agents interleavings probes doc book lint instructions advisories

# What other systems than Linux get, tested here: all tests, with calls of POSIX alone (docs/PORTABILITY.md). A build of
# its own, in target/portable.
portable:
    RUSTFLAGS="--deny warnings --cfg milepost_portable" CARGO_TARGET_DIR=target/portable cargo test --workspace

# Type checks of the command for other systems, as in `just targets aarch64-apple-darwin`, once `rustup target add` has
# their standard libraries. `zig` compiles what is in C. jemalloc does not configure so, and is left out.
targets +TARGETS:
    python3 -m venv target/release-tools
    target/release-tools/bin/pip install --quiet --requirement deploy/release/requirements.txt
    for target in {{TARGETS}}; do PATH="$PWD/target/release-tools/bin:$PATH" CARGO_TARGET_DIR=target/targets \
        cargo-zigbuild check --target "$target" -p milepost-cli --no-default-features --features sqlite; done

# The package for Python: a build, lints, and tests in a virtual environment.
python *ARGS:
    cargo build -p milepost-cli
    MILEPOST="$PWD/target/debug/milepost" python/test {{ARGS}}

# A wheel in target/wheels, with the library and the command, for any Linux with glibc 2.28 or newer: ten minutes.
wheel:
    python3 -m venv target/release-tools
    target/release-tools/bin/pip install --quiet --requirement deploy/release/requirements.txt
    PATH="$PWD/target/release-tools/bin:$PATH" CARGO_TARGET_DIR="$PWD/target/python" maturin build --zig \
        --compatibility manylinux_2_28 --profile dist --locked --manifest-path python/Cargo.toml --out target/wheels

# All artefacts of a release in target/artefacts, each then installed in an empty folder and tried: half an hour.
release:
    deploy/release/build target/artefacts
    deploy/release/check target/artefacts

# The crates as they are published, each built from its archive: ten minutes.
package:
    cargo package --locked
    deploy/release/outside

# Random programs over the API of a store, with faults, against a plain model: an hour, other seeds each
# time. `MILEPOST_SEED=N just storm` begins with a seed, `MILEPOST_STORM_FAILURES` says how many kinds of
# failures end it.
storm SECONDS="3600":
    MILEPOST_STORM_SECONDS={{SECONDS}} cargo test --package milepost-tests --test runner -- storm:: --nocapture

# Claude Code, Codex and Gemini CLI themselves, with a scripted model: three minutes, 900 MB.
agents:
    tests/agents/install target/agents
    MILEPOST_AGENTS="$PWD/target/agents" MILEPOST_AGENTS_REQUIRED=1 cargo test --workspace --test agents

# The same with their newest versions: a failure here is a format or a hook that changed.
newest-agents:
    tests/agents/install --newest target/newest-agents
    MILEPOST_AGENTS="$PWD/target/newest-agents" MILEPOST_AGENTS_REQUIRED=1 cargo test --workspace --test agents

# qwen-code, Copilot CLI, OpenCode and Cline, too: a minute, 1.2 GB.
more-agents:
    tests/agents/install --more target/more-agents
    MILEPOST_AGENTS_ALL="$PWD/target/more-agents" MILEPOST_AGENTS_REQUIRED=all \
        cargo test --workspace --test agents -- others::

# The service under load, beside the engine called directly (needs wrk): a quarter of an hour.
served *ROWS:
    cargo build --profile dist -p milepost-cli
    cargo build --manifest-path benches/Cargo.toml --target-dir target --release
    target/release/served {{ROWS}}

# What the service answers, beside what its description says (needs Python).
described EXAMPLES="20":
    cargo build -p milepost-cli
    server/tests/schemathesis/run {{EXAMPLES}}

# One token that does its worst beside another user's appends: what the service holds, and how long they
# take. `MILEPOST_HOSTILE_USES=looks,blames just survives` picks some of the uses.
survives SECONDS="60":
    MILEPOST_HOSTILE_SECONDS={{SECONDS}} cargo test --package milepost-cli --release --test runner -- survives:: --nocapture

# In copies of the tree: adds a field to the mark of a checkpoint and to an event, where every function that
# copies it has to fail to compile (`tests/probes/*.txt`), and an operation, in three files. Three minutes,
# and eight the first time.
probes:
    tests/probes/field.py mark
    tests/probes/field.py tool_returned
    tests/probes/operation.py

# The committer and subscribers under a scheduler that tries interleavings. `.ci/run` does it where their
# sources changed since.
interleavings:
    .ci/interleavings run

# Licences and sources of the dependencies (needs cargo-deny). `.ci/run` asks where these files changed since.
licences:
    cargo deny check bans licenses sources
    sha256sum Cargo.lock deny.toml > .ci/licences

# Known vulnerabilities of the dependencies, of Rust, npm and Python (needs the network and cargo-deny).
advisories:
    .ci/advisories

# The documentation, warnings denied.
doc:
    RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps

# The pages of docs/ as a book, in target/book. Two minutes of compilation, the first time; without the server that
# shows a book while it is written.
book:
    .ci/tool mdbook 0.5.4 --no-default-features --features search
    PATH="$PWD/target/tools/bin:$PATH" mdbook build

# Every fuzz target for a minute each (needs cargo-fuzz). Its corpus is unpacked to `fuzz/target/corpus`, where inputs that
# reach something new are added; what breaks a promise goes to `fuzz/artifacts`.
fuzz-smoke:
    cd fuzz && for target in $(cargo fuzz list --fuzz-dir .); do \
        mkdir -p target/corpus/$target regressions/$target && \
        tar --extract --file corpus/$target.tar --directory target/corpus/$target && \
        RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir . --sanitizer none --features libfuzzer \
            $target target/corpus/$target regressions/$target -- \
            -max_total_time=60 -rss_limit_mb=512 -timeout=30 || exit 1; done; \
    find regressions -type d -empty -delete

# Criterion benches.
bench:
    cargo bench --manifest-path benches/Cargo.toml --target-dir target

# How many instructions the hot paths take, against their limits (needs valgrind).
instructions:
    .ci/tool gungraun-runner 0.20.0
    PATH="$PWD/target/tools/bin:$PATH" cargo bench --manifest-path benches/Cargo.toml --target-dir target --profile instructions \
        --package milepost-instructions

# The table of targets, each beside its peers.
targets *ROWS:
    cargo run --manifest-path benches/Cargo.toml --target-dir target --release --bin targets -- {{ROWS}}

# Milepost beside what its users would use instead: half an hour, `just compare quick` five minutes.
compare *WORK:
    cargo run --manifest-path benches/Cargo.toml --target-dir target --release --bin compare -- {{WORK}}

# What has to pass before anything lands.
ci:
    .ci/run
