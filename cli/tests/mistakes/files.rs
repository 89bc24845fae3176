//! Files that are missing or wrong, stores that are not there, keys and permissions.

use super::Row;

pub const FILES: &[Row] = &[
    ("record missing.jsonl", 1, "missing.jsonl", "check the name"),
    ("record empty.jsonl", 1, "empty.jsonl", "one event an object a line"),
    ("record site", 1, "site", "name the files"),
    ("capture nodir --task run", 1, "nodir", "a folder that is there"),
    ("capture hello.txt --task run", 1, "hello.txt", "a folder"),
    ("verify --anchor nofile", 1, "nofile", "milepost anchor"),
    ("verify --anchor hello.txt", 3, "hello.txt", "milepost anchor"),
    ("man /proc/x", 1, "/proc/x", "a folder"),
    ("man hello.txt", 1, "hello.txt", "a folder"),
    ("export run -o nodir/out", 1, "nodir/out", "a folder that is there"),
    ("key hello.txt", 4, "hello.txt", "another name"),
    ("key nodir/key", 1, "nodir/key", "check the name"),
    ("--key-file nofile tasks", 1, "nofile", "milepost key"),
    ("--key-file hello.txt tasks", 1, "hello.txt", "milepost key"),
    ("--key-file site tasks", 1, "site", "milepost key"),
    ("restore airline-7@base --files nodir", 1, "nodir", "check the name"),
    ("webhook http://127.0.0.1:1 --secret-file nofile", 1, "nofile", "check the name"),
    ("--store hello.txt tasks", 1, "hello.txt", "the folder of a store"),
    ("--store site tasks", 1, "site", "the folder of a store"),
    ("--store nowhere tasks", 1, "no store at nowhere", "--store nowhere"),
    ("--store nowhere doctor", 1, "no store at nowhere", "--store nowhere"),
];

pub const NO_STORE: &[Row] = &[
    ("tasks", 1, "no store", "milepost init"),
    ("log run", 1, "no store", "milepost init"),
    ("doctor", 1, "no store", "milepost init"),
    ("verify", 1, "no store", "milepost init"),
    ("restore run@7", 1, "no store", "milepost init"),
    ("compact", 1, "no store", "milepost init"),
    ("token list", 1, "no store", "milepost init"),
];

pub const KEYS: &[Row] = &[
    ("--store keyed tasks", 1, "has a key", "--key-file FILE"),
    ("--store keyed state hello", 1, "has a key", "--key-file FILE"),
    ("--store keyed --key-file other tasks", 1, "another key", "--key-file FILE"),
    ("--key-file key tasks", 1, "without a key", "leave out --key-file"),
    ("--store keyed demo", 1, "has a key", "--key-file FILE"),
];

pub const LOCKED: &[Row] = &[
    ("--store locked/new init", 1, "locked/new", "may write"),
    ("--store locked/new record hello.jsonl", 1, "locked/new", "may write"),
    ("--store locked/new demo", 1, "locked/new", "may write"),
    ("man locked/pages", 1, "locked/pages", "may write"),
    ("key locked/key", 1, "locked/key", "may write"),
    ("--key-file secret --store locked/new init", 1, "secret", "may read"),
    ("record secret", 1, "secret", "may read"),
];
