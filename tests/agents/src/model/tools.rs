//! Tools that an agent offers, and the calls of them for a directive.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{Act, list};

/// Tools by their names, with the schemas of their arguments.
#[derive(Debug, Default)]
pub(super) struct Tools {
    schemas: BTreeMap<String, Value>,
    /// Tools that take a text instead of arguments.
    plain: Vec<String>,
}

impl Tools {
    /// Returns the tools of a list with names and schemas.
    pub(super) fn of<'a>(declared: impl Iterator<Item = (&'a Value, &'a Value)>) -> Self {
        let mut tools = Self::default();
        for (name, schema) in declared {
            if let Some(name) = name.as_str() {
                tools.schemas.insert(name.to_owned(), schema.clone());
            }
        }
        tools
    }

    /// Returns the tools of OpenAI, which may have a type and no schema.
    pub(super) fn of_openai(declared: &Value) -> Self {
        let mut tools = Self::of(list(declared).iter().map(|tool| {
            let tool = tool.get("function").unwrap_or(tool);
            (&tool["name"], &tool["parameters"])
        }));
        let is_plain = |tool: &&Value| tool["type"] == "custom";
        let plain = list(declared).iter().filter(is_plain);
        tools.plain.extend(plain.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())));
        tools
    }

    pub(super) fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }

    /// Returns `true` for a tool that takes a text.
    pub(super) fn is_plain(&self, name: &str) -> bool {
        self.plain.iter().any(|plain| plain == name)
    }

    /// Returns the calls that do something: names and arguments.
    pub(super) fn calls(&self, act: &Act, folder: &Path) -> Vec<(String, Value)> {
        match act {
            Act::Write { path, text } => vec![self.write(path, text, folder)],
            Act::Shell(command) => vec![self.shell(command)],
            Act::Parallel(commands) => commands.iter().map(|it| self.shell(it)).collect(),
            Act::Task(prompt) => vec![self.task(prompt)],
            Act::Named { tool, input } => {
                vec![(tool.clone(), serde_json::from_str(input).unwrap_or_default())]
            }
        }
    }

    /// Returns the first of these tools that is offered.
    fn pick(&self, names: &[&str]) -> Option<String> {
        names.iter().find(|name| self.schemas.contains_key(**name)).map(|name| (*name).to_owned())
    }

    fn has_argument(&self, tool: &str, name: &str) -> bool {
        self.schemas[tool]["properties"].get(name).is_some()
    }

    fn write(&self, path: &str, text: &str, folder: &Path) -> (String, Value) {
        let whole = folder.join(path).display().to_string();
        if let Some(tool) = self.pick(&["Write", "write_file", "write"]) {
            let name = if self.has_argument(&tool, "file_path") { "file_path" } else { "filePath" };
            return (tool, json!({name: whole, "content": text}));
        }
        if let Some(tool) = self.pick(&["create"]) {
            return (tool, json!({"path": whole, "file_text": text}));
        }
        if let Some(tool) = self.pick(&["apply_patch"]) {
            let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
            let input = match self.is_plain(&tool) {
                true => Value::String(patch),
                false => json!({"input": patch}),
            };
            return (tool, input);
        }
        let quoted = text.replace('\'', r"'\''");
        self.shell(&format!("printf %s '{quoted}' > '{path}'"))
    }

    fn shell(&self, command: &str) -> (String, Value) {
        let names = [
            "Bash",
            "run_shell_command",
            "bash",
            "exec_command",
            "shell_command",
            "shell",
            "run_commands",
        ];
        let tool = self.pick(&names).unwrap_or_else(|| "shell".to_owned());
        let input = match tool.as_str() {
            "exec_command" => json!({"cmd": command}),
            "shell" => json!({"command": ["bash", "-lc", command]}),
            "shell_command" => json!({"command": command}),
            "run_commands" => json!({"commands": [command]}),
            "run_shell_command" if self.has_argument(&tool, "is_background") => {
                json!({"command": command, "description": "a command", "is_background": false})
            }
            _ => json!({"command": command, "description": "a command"}),
        };
        (tool, input)
    }

    fn task(&self, prompt: &str) -> (String, Value) {
        let tool = self.pick(&["Agent", "Task", "task"]).unwrap_or_else(|| "Task".to_owned());
        let kind = if tool == "task" { "general" } else { "general-purpose" };
        let input = json!({"description": "a helper", "prompt": prompt, "subagent_type": kind});
        (tool, input)
    }
}
