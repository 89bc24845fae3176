//! Databases of LangGraph as `SqliteSaver` makes them, written by hand.

use milepost_langgraph::{joined, joined_map};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::common::Place;

/// A database with the tables that are needed and no row.
pub fn empty(place: &Place) -> Connection {
    let connection = Connection::open(place.path("made.sqlite")).unwrap();
    let tables = "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
            checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
            PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
        CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
            task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
            PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));";
    connection.execute_batch(tables).unwrap();
    connection
}

/// A checkpoint of the thread `t`.
pub fn put(connection: &Connection, id: &str, parent: Option<&str>, kind: &str, checkpoint: &[u8]) {
    put_in(connection, "t", (id, parent), kind, checkpoint);
}

/// A checkpoint of a thread: its id, and that of the one before it.
pub fn put_in(
    connection: &Connection,
    thread: &str,
    (id, parent): (&str, Option<&str>),
    kind: &str,
    checkpoint: &[u8],
) {
    let sql = "INSERT INTO checkpoints VALUES (?1, '', ?2, ?3, ?4, ?5, ?6)";
    let metadata = json!({"source": "loop", "step": 1}).to_string();
    let row = params![thread, id, parent, kind, checkpoint, metadata.as_bytes()];
    connection.execute(sql, row).unwrap();
}

/// Adds a write of a graph task after a checkpoint of the thread `t`.
pub fn put_write(connection: &Connection, id: &str, task: &str, value: &Value) {
    let sql = "INSERT INTO writes VALUES ('t', '', ?1, ?2, 0, 'c', 'json', ?3)";
    let value = value.to_string().into_bytes();
    let row = params![id, task, value];
    connection.execute(sql, row).unwrap();
}

/// A checkpoint as older versions wrote it.
pub fn as_json(values: &Value) -> Vec<u8> {
    checkpoint(values).to_string().into_bytes()
}

/// A checkpoint in MessagePack.
pub fn as_msgpack(values: &Value) -> Vec<u8> {
    packed(&checkpoint(values))
}

fn checkpoint(values: &Value) -> Value {
    json!({"v": 1, "ts": "2024-05-26T07:27:40+00:00", "channel_values": values})
}

fn packed(value: &Value) -> Vec<u8> {
    let text = |text: &str| {
        [&[0xdb][..], &u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat()
    };
    match value {
        Value::Null => vec![0xc0],
        Value::Bool(is_true) => vec![0xc2 | u8::from(*is_true)],
        Value::Number(number) => [&[0xd3][..], &number.as_i64().unwrap().to_be_bytes()].concat(),
        Value::String(string) => text(string),
        Value::Array(items) => joined(&items.iter().map(packed).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let entries: Vec<_> =
                fields.iter().map(|(name, value)| (text(name), packed(value))).collect();
            let entries = entries.iter().map(|(name, value)| (&name[..], &value[..]));
            joined_map(&entries.collect::<Vec<_>>())
        }
    }
}

pub fn variables(place: &Place, address: &str) -> Value {
    place.json(&format!("state {address}"))["variables"].clone()
}
