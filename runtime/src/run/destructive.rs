//! Commands that may remove or overwrite what cannot be made again.

use std::ffi::OsStr;
use std::path::Path;

/// Programs and words that remove or overwrite, wherever they occur.
const WORDS: [&str; 26] = [
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "mv",
    "dd",
    "truncate",
    "tee",
    "wipefs",
    "mkfs",
    "clean",
    "prune",
    "purge",
    "drop",
    "delete",
    "destroy",
    "uninstall",
    "-delete",
    "--delete",
    "--force",
    "--hard",
    "--overwrite",
    "--in-place",
    "--remove-source-files",
    "--mirror",
    "--prune",
];

/// Subcommands of `git` that change the files of the working tree or drop history.
const GIT: [&str; 12] = [
    "reset",
    "checkout",
    "restore",
    "rebase",
    "stash",
    "switch",
    "merge",
    "pull",
    "revert",
    "cherry-pick",
    "apply",
    "am",
];

/// Programs that edit files in place with `-i`.
const EDITORS: [&str; 3] = ["sed", "perl", "ruby"];

/// Shells, whose `>` overwrites files.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

/// Returns `true` if a command may remove or overwrite files: by the name of a program, a
/// subcommand or an option in it, also within the text that a shell runs. A word in a harmless
/// place counts too, as in `echo rm`; a program that removes files under another name does not.
///
/// ```
/// use milepost_runtime::run::is_destructive;
///
/// assert!(is_destructive(["git", "reset", "--hard"]));
/// assert!(is_destructive(["sh", "-c", "cd out && rm -rf *"]));
/// assert!(!is_destructive(["cargo", "test"]));
/// ```
pub fn is_destructive(command: impl IntoIterator<Item = impl AsRef<OsStr>>) -> bool {
    let text: Vec<String> =
        command.into_iter().map(|part| part.as_ref().to_string_lossy().into_owned()).collect();
    let text = text.join(" ");
    let breaks = |c: char| c.is_whitespace() || ";|&()`$'\"{}<>\\".contains(c);
    let words: Vec<&str> = text.split(breaks).filter(|word| !word.is_empty()).collect();
    let names: Vec<&str> = words.iter().map(|word| name_of(word)).collect();
    let any = |listed: &[&str]| names.iter().any(|name| listed.contains(name));
    let has_option = |short: char| {
        words.iter().any(|word| {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(short))
        })
    };
    any(&WORDS)
        || names.iter().any(|name| WORDS.contains(&name.to_lowercase().as_str()))
        || any(&["git"]) && any(&GIT)
        || any(&EDITORS) && has_option('i')
        || any(&SHELLS) && overwrites(&text)
}

/// Returns `true` if a shell's text redirects output to a file anew: `>`, and neither `>>` nor a
/// copy of a descriptor as `2>&1`.
fn overwrites(text: &str) -> bool {
    text.match_indices('>').any(|(at, _)| {
        let before = text.get(..at).is_some_and(|before| before.ends_with('>'));
        let after = text.get(at + 1..).is_some_and(|after| after.starts_with(['>', '&']));
        !before && !after
    })
}

/// Returns the last name of a program's path; an option without its value.
fn name_of(word: &str) -> &str {
    let word = if word.starts_with('-') { word.split('=').next().unwrap_or(word) } else { word };
    let name = Path::new(word).file_name().and_then(OsStr::to_str);
    name.filter(|_| !word.starts_with('-')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_remove_or_overwrite_are_destructive_and_others_are_not() {
        let words = |line: &'static str| line.split(' ');
        for line in [
            "rm -rf out",
            "/bin/rm x",
            "git checkout -- src",
            "git -C repo stash",
            "sed -i s/a/b/ x",
            "perl -pi -e s/a/b/ x",
            "find . -name x -delete",
            "rsync -a --delete a/ b/",
            "make clean",
            "psql -c DROP_TABLE drop",
            "dd if=a of=b",
            "sed --in-place=.bak s/a/b/ f",
        ] {
            assert!(is_destructive(words(line)), "{line}");
        }
        for script in [
            "echo a > b",
            "gen>config.json",
            "cd x && rm *",
            "\\rm -rf out",
            "(mv a b)",
            "x=$(unlink y)",
            "a 2>log",
        ] {
            assert!(is_destructive(["bash", "-c", script]), "{script}");
        }
        for line in ["cargo test", "git status", "sed -n 1p x", "grep -i rms x", "ls warm", "a > b"]
        {
            assert!(!is_destructive(words(line)), "{line}");
        }
        for script in ["echo a >> b", "make 2>&1 | less", "python3 train.py"] {
            assert!(!is_destructive(["sh", "-c", script]), "{script}");
        }
    }
}
