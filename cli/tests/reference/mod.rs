//! docs/COMMANDS.md is made from the help of each command.

mod help;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Place;
use help::{Help, entries, text};

const BEGINNING: &str = "\
# Commands

Made from the commands themselves, as `milepost COMMAND --help` prints them.
[COMMAND_LINE.md](COMMAND_LINE.md) explains the choice of the store, the output, and the details of
single commands.
";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/COMMANDS.md")
}

fn help(place: &Place, path: &[&str]) -> Help {
    Help::new(&place.run(path.iter().copied().chain(["--help"])).ok())
}

/// A command and those below it, one after another.
fn section(place: &Place, path: &[&str], written: &mut String, seen: &mut BTreeSet<String>) {
    if !seen.insert(path.join("-")) {
        return;
    }
    let help = help(place, path);
    written.push_str(&format!("\n### `{}`\n\n{}", path.join(" "), help.markdown()));
    for name in help.commands() {
        section(place, &[path, &[&name]].concat(), written, seen);
    }
}

fn written_anew() -> (String, BTreeSet<String>) {
    let place = Place::new();
    let mut written = BEGINNING.to_owned();
    let mut seen = BTreeSet::new();
    let all = help(&place, &[]);
    for (heading, part) in &all.parts {
        let names = help::names(part);
        if names.is_empty() {
            continue;
        }
        let heading = if heading == "Commands" { "All commands" } else { heading };
        written.push_str(&format!("\n## {heading}\n"));
        for name in names {
            section(&place, &[&name], &mut written, &mut seen);
            if let Some(aliases) = help::aliases(part, &name) {
                written.push_str(&format!("\nOther names: {aliases}.\n"));
            }
        }
    }
    written.push_str("\n## Options of every command\n\n");
    written.push_str(&entries(all.part("Everywhere").expect("it has the options of all commands")));
    written.push_str(&format!("\n## Addresses and exit codes\n\n{}", text(&all.after)));
    (written, seen)
}

#[test]
fn the_page_of_commands_is_their_help() {
    let (now, seen) = written_anew();
    let place = Place::new();
    place.say("man pages").ok();
    let pages: BTreeSet<String> = fs::read_dir(place.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_prefix("milepost-")?.strip_suffix(".1")?.to_owned()))
        .collect();
    assert_eq!(seen, pages, "the commands of the help, and those with a page for `man`");
    if std::env::var_os("MILEPOST_COMMANDS").is_some() {
        fs::write(page(), now).unwrap();
        return;
    }
    let shown = fs::read_to_string(page()).unwrap();
    let again = "`MILEPOST_COMMANDS=write cargo test -p milepost-cli --test runner reference::`";
    assert!(
        shown == now,
        "{} is not the help of the commands: {again} writes it",
        page().display()
    );
}
