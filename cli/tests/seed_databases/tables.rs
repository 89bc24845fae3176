//! Databases with the table `checkpoints` as the engine's migration makes it.

use rusqlite::{Connection, params};
use serde_json::Value;

use crate::common::Place;

/// The statements of the migration.
pub const MIGRATION: &str = "
    CREATE TABLE IF NOT EXISTS checkpoints (
        id TEXT PRIMARY KEY NOT NULL,
        task_id TEXT NOT NULL,
        iteration INTEGER NOT NULL,
        state TEXT NOT NULL,
        run_control_state TEXT NOT NULL,
        prompt TEXT NOT NULL,
        rule_system TEXT NOT NULL,
        artifacts TEXT,
        user_guidance TEXT,
        branch_id TEXT NOT NULL,
        parent_id TEXT,
        lineage_type TEXT NOT NULL,
        branch_description TEXT,
        checksum TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        FOREIGN KEY (task_id) REFERENCES optimization_tasks(id) ON DELETE CASCADE
    );
    CREATE INDEX IF NOT EXISTS idx_checkpoints_task_id ON checkpoints(task_id);
    CREATE INDEX IF NOT EXISTS idx_checkpoints_created_at ON checkpoints(created_at DESC);";

/// A row of the table.
pub struct Row<'a> {
    pub id: &'a str,
    pub task: &'a str,
    pub iteration: i64,
    pub state: &'a str,
    pub control: &'a str,
    pub prompt: &'a str,
    pub rules: &'a str,
    pub artifacts: Option<Value>,
    pub guidance: Option<Value>,
    pub branch: &'a str,
    pub parent: Option<&'a str>,
    pub description: Option<&'a str>,
    pub created_at: i64,
}

impl Default for Row<'_> {
    fn default() -> Self {
        Self {
            id: "ckpt-0",
            task: "task-1",
            iteration: 0,
            state: "\"layer_0\"",
            control: "running",
            prompt: "first",
            rules: r#"{ "rules": [ {"id": "r1"} ] }"#,
            artifacts: None,
            guidance: None,
            branch: "task-1",
            parent: None,
            description: None,
            created_at: 1_768_700_000_000,
        }
    }
}

/// A database `checkpoints.sqlite` without a row.
pub fn database(place: &Place) -> Connection {
    let connection = Connection::open(place.path("checkpoints.sqlite")).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch(MIGRATION).unwrap();
    connection
}

/// Inserts a row.
pub fn put(connection: &Connection, row: &Row<'_>) {
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let sql = "INSERT INTO checkpoints (id, task_id, iteration, state, run_control_state, prompt,
        rule_system, artifacts, user_guidance, branch_id, parent_id, lineage_type,
        branch_description, checksum, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'automatic', ?12, ?13, ?14)";
    let text = |json: &Option<Value>| json.as_ref().map(Value::to_string);
    let values = params![
        row.id,
        row.task,
        row.iteration,
        row.state,
        row.control,
        row.prompt,
        row.rules,
        text(&row.artifacts),
        text(&row.guidance),
        row.branch,
        row.parent,
        row.description,
        "c".repeat(64),
        row.created_at
    ];
    connection.execute(sql, values).unwrap();
}
