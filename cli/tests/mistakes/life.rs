//! Commands at the wrong time, and a service that is not there.

use super::Row;

pub const ORDER: &[Row] = &[
    ("undo run", 1, "undo", "milepost lineages run"),
    ("undo tools", 1, "undo", "milepost lineages tools"),
    ("restore react", 1, "already", "react~1"),
    ("resume history_only", 4, "no program drives it", "milepost log history_only"),
    ("pause history_only", 4, "from idle to paused", "milepost log history_only"),
    ("resume run", 4, "from running to running", "milepost log run"),
    ("delete run", 1, "no terminal", "--yes"),
    ("delete --user ada", 1, "no terminal", "--yes"),
    ("delete --user bob --yes", 1, "user `bob` has no tasks", "milepost tasks"),
    ("erase run@4", 1, "no terminal", "--yes"),
    ("cleanup --keep 1", 2, "nothing was changed", "--yes"),
    ("bisect good", 1, "no search", "milepost bisect start"),
    (
        "bisect run --when '/variables/best == \"z\"'",
        1,
        "/variables/best is \"a\"",
        "milepost state run",
    ),
    ("bisect run --when '/variables/bst == \"z\"'", 1, "bst", "`/variables/best`"),
    ("bisect run@3 --good run@7 --when '/step/number > 0'", 1, "run", "--good ADDRESS"),
    ("rollback react@3", 1, "captured", "milepost restore react@3"),
    ("log run --follow", 1, "no program has the store open", "start the program"),
    ("log airline-0/1 --follow", 2, "not the active lineage", "--follow"),
    ("replay airline-0/1 --exec", 2, "--exec", "milepost replay"),
    ("token revoke 01234567", 1, "01234567", "milepost token list"),
];

pub const SERVICE: &[Row] = &[
    ("--server http://127.0.0.1:1 tasks", 1, "http://127.0.0.1:1", "whether it runs"),
    ("--server http://127.0.0.1:1 log run", 1, "http://127.0.0.1:1", "whether it runs"),
    ("--server nonsense tasks", 1, "nonsense", "http://HOST:PORT"),
    ("--server 127.0.0.1:7733 tasks", 1, "127.0.0.1:7733", "http://HOST:PORT"),
    ("--server ftp://example.org tasks", 1, "ftp://example.org", "http://HOST:PORT"),
    ("--server http://127.0.0.1:1 --store x tasks", 2, "cannot be used with", "milepost"),
    ("--server http://127.0.0.1:1 compact", 1, "127.0.0.1:1", "see whether it runs"),
];
