# Everyday commands. `.ci/run` does the same steps without just.

# Format everything.
fmt:
    cargo fmt --all

# Lints, warnings denied.
lint:
    cargo clippy --workspace --all-targets -- --deny warnings

# All tests.
test:
    cargo test --workspace

# The documentation, warnings denied.
doc:
    RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps

# Every fuzz target for a minute each (needs cargo-fuzz).
fuzz-smoke:
    for target in $(cd fuzz && cargo fuzz list); do \
        RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir fuzz $target -- -max_total_time=60; done

# Criterion benches.
bench:
    cargo bench --workspace

# The table of targets, each beside its peers.
targets *ROWS:
    cargo run --release -p milepost-benches --bin targets -- {{ROWS}}

# What has to pass before anything lands.
ci:
    .ci/run
