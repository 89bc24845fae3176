//! Files that are ours as a whole: the plugin of OpenCode, and the scripts of Cline.
//!
//! The plugin is ours if it begins with the mark, and one of its lines has the command; a script,
//! if it has nothing else. Any other file in its place is the user's.

use std::path::Path;

use super::{Edited, InstalledHook, quoted};
use crate::agent::{Agent, HookFile};
use crate::error::Error;
use crate::guard::Guard;

/// The plugin, with a place for the command.
const PLUGIN: &str = include_str!("plugin.js");

/// The command's place in the plugin.
const PLACE: &str = "\"MILEPOST_COMMAND\"";

/// Beginning of the line with the command in the plugin.
const LINE: &str = "const COMMAND = ";

/// Number of lines of a script.
const SCRIPT_LINES: usize = 4;

/// Beginnings of files of ours.
const MARKS: [&str; 2] = ["// Milepost: `milepost agent", "#!/bin/sh\n# Milepost: `milepost agent"];

/// Writes one of our own files. A file with the path of another program is replaced.
pub(super) fn install(
    text: Option<&str>,
    agent: Agent,
    file: &HookFile,
    program: &Path,
) -> Result<Edited, Error> {
    let new = text_of(agent, &Guard::command(program, agent)?);
    match text {
        Some(text) if guard(text).is_none() => {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let next = format!("rename your {name}, or move it away; nothing was changed");
            Err(Error::new("a file that is not of Milepost is there", next))
        }
        Some(text) if text == new => Ok(Edited { text: new, events: Vec::new() }),
        _ => Ok(Edited { text: new, events: names(file) }),
    }
}

/// Empties a file of ours.
pub(super) fn uninstall(text: &str, file: &HookFile) -> Edited {
    match guard(text) {
        Some(_) => Edited { text: String::new(), events: names(file) },
        None => Edited { text: text.to_owned(), events: Vec::new() },
    }
}

/// Returns the hooks of a file of ours.
pub(super) fn installed(text: &str, file: &HookFile) -> Vec<InstalledHook> {
    let hook = |guard: Guard| {
        let of = |event: String| InstalledHook { event, guard: guard.clone() };
        names(file).into_iter().map(of).collect()
    };
    guard(text).map(hook).unwrap_or_default()
}

/// Returns the command of a file of ours. `None` for a file of the user's.
pub(super) fn guard(text: &str) -> Option<Guard> {
    if !MARKS.iter().any(|mark| text.starts_with(mark)) {
        return None;
    }
    let guard = text.lines().find_map(|line| match line.strip_prefix(LINE) {
        Some(quoted) => Guard::read(&serde_json::from_str::<String>(quoted).ok()?),
        None => Guard::read(line),
    })?;
    // A user who needs a hook for the same event writes it into our script.
    let is_changed = is_script(text) && text.lines().count() != SCRIPT_LINES;
    (!is_changed).then_some(guard)
}

/// Returns `true` for a text that is run, and not only read.
pub(super) fn is_script(text: &str) -> bool {
    text.starts_with("#!")
}

fn text_of(agent: Agent, command: &str) -> String {
    let name = agent.name();
    match agent {
        Agent::OpenCode => PLUGIN.replacen(PLACE, &quoted(command), 1),
        _ => format!(
            "{} install {name}` made this file.\n# `milepost agent uninstall {name}` removes it.\n\
             {command}\n",
            MARKS[1]
        ),
    }
}

fn names(file: &HookFile) -> Vec<String> {
    file.events.iter().map(|event| (*event).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn files() -> Vec<(Agent, HookFile)> {
        let of = |agent: Agent| {
            let files = agent.hook_files(Path::new("/home/ana/place"));
            files.into_iter().map(move |file| (agent, file))
        };
        let all = Agent::ALL.into_iter().flat_map(of);
        all.filter(|(_, file)| file.is_own).collect()
    }

    fn program(path: &str) -> &Path {
        Path::new(path)
    }

    #[test]
    fn a_file_of_ours_is_written_once_and_knows_its_program() {
        for (agent, file) in files() {
            let new = install(None, agent, &file, program("/opt/mile \"post'/m")).unwrap();
            assert_eq!(new.events.len(), file.events.len());
            let found = installed(&new.text, &file);
            assert_eq!(found.len(), file.events.len());
            assert_eq!(found[0].guard.program, program("/opt/mile \"post'/m"));
            assert_eq!(found[0].guard.agent, agent.name());
            let again = install(Some(&new.text), agent, &file, program("/opt/mile \"post'/m"));
            assert_eq!(again.unwrap(), Edited { text: new.text.clone(), events: Vec::new() });
            let moved = install(Some(&new.text), agent, &file, program("/m")).unwrap();
            assert_eq!(moved.events.len(), file.events.len());
            assert_eq!(moved, install(None, agent, &file, program("/m")).unwrap());
            assert_eq!(uninstall(&moved.text, &file).text, "");
            // A script with lines of the user is the user's; of a plugin nothing is left.
            let changed = format!("{}// a note\n", moved.text);
            let left = if is_script(&changed) { changed.as_str() } else { "" };
            assert_eq!(uninstall(&changed, &file).text, left);
        }
    }

    #[test]
    fn the_plugin_has_one_command_and_no_place_for_another() {
        let (agent, file) =
            files().into_iter().find(|(agent, _)| *agent == Agent::OpenCode).unwrap();
        let text = install(None, agent, &file, program("/m")).unwrap().text;
        assert_eq!(PLUGIN.matches(PLACE).count(), 1);
        assert!(!text.contains("MILEPOST_COMMAND"), "{text}");
        let line = "const COMMAND = \"[ -x '/m' ] && '/m' agent hook opencode || :\"";
        assert_eq!(text.lines().filter(|one| *one == line).count(), 1);
    }

    #[test]
    fn a_file_of_the_user_that_calls_milepost_is_not_ours() {
        for (agent, file) in files() {
            let command = Guard::command(program("/m"), agent).unwrap();
            for text in [
                format!("#!/bin/sh\n{command}\n"),
                format!("#!/bin/sh\necho mine\n# Milepost: `milepost agent\n{command}\n"),
                format!("const COMMAND = {}\n", quoted(&command)),
                // The mark alone: a note about Milepost.
                format!("{} install` made another file\n", MARKS[0]),
            ] {
                assert_eq!(uninstall(&text, &file).text, text);
                assert!(install(Some(&text), agent, &file, program("/m")).is_err(), "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_file_of_the_user_is_refused_and_left(
            text in "(#!/bin/sh\n|// Milepost: `milepost|// |const COMMAND = |[ -~é\n]{0,9}){0,8}"
        ) {
            for (agent, file) in files() {
                let refused = install(Some(&text), agent, &file, program("/m")).unwrap_err();
                prop_assert!(!refused.next_step().is_empty());
                let left = uninstall(&text, &file);
                prop_assert_eq!((&left.text, left.events.len()), (&text, 0));
                prop_assert!(installed(&text, &file).is_empty());
            }
        }
    }
}
