//! Directives of a prompt, and the one that is next.
//!
//! Nothing is remembered between requests: the number of results behind the last prompt with
//! directives says which one is next. So a session can be resumed with another model.

/// A part of a conversation, as far as it counts here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A text of the user's, or of the program in the user's name.
    User(String),
    /// The result of a call.
    Result,
}

/// The next answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub text: Option<String>,
    pub act: Option<Act>,
}

/// Something that tools do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Write {
        path: String,
        text: String,
    },
    Shell(String),
    Parallel(Vec<String>),
    Task(String),
    /// A tool by its own name, with its arguments as JSON.
    Named {
        tool: String,
        input: String,
    },
}

impl Act {
    /// Returns the number of results that come back.
    fn results(&self) -> usize {
        match self {
            Self::Parallel(commands) => commands.len(),
            _ => 1,
        }
    }
}

/// A directive.
#[derive(Debug, PartialEq, Eq)]
enum Directive {
    Say(String),
    Act(Act),
}

/// Returns the next answer to a conversation.
pub(super) fn next(items: &[Item]) -> Step {
    let prompt = |item: &Item| match item {
        Item::User(text) => Some(directives(text)).filter(|found| !found.is_empty()),
        Item::Result => None,
    };
    let last = items.iter().enumerate().rev().find_map(|(at, item)| Some((at, prompt(item)?)));
    let Some((at, found)) = last else {
        return Step { text: Some("Hello.".to_owned()), act: None };
    };
    let results = items.iter().skip(at).filter(|item| **item == Item::Result).count();
    let mut done = 0;
    let mut texts = Vec::new();
    for directive in found {
        match directive {
            Directive::Say(text) => texts.push(text),
            Directive::Act(act) if done == results => {
                let text = (!texts.is_empty()).then(|| texts.join(" "));
                return Step { text, act: Some(act) };
            }
            Directive::Act(act) => {
                done += act.results();
                texts.clear();
            }
        }
    }
    if texts.is_empty() {
        texts.push("Done.".to_owned());
    }
    Step { text: Some(texts.join(" ")), act: None }
}

fn directives(text: &str) -> Vec<Directive> {
    let parts = text.split("[[").skip(1).filter_map(|part| Some(part.split_once("]]")?.0));
    parts.filter_map(directive).collect()
}

/// Reads a directive. `None` for any other word.
fn directive(text: &str) -> Option<Directive> {
    let (word, rest) = text.split_once(' ')?;
    let rest = rest.trim();
    let act = match word {
        "say" => return Some(Directive::Say(rest.to_owned())),
        "write" => {
            let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
            let text = format!("{}\n", text.replace("\\n", "\n"));
            Act::Write { path: path.to_owned(), text }
        }
        "shell" => Act::Shell(rest.to_owned()),
        "par" => Act::Parallel(rest.split(" && ").map(str::to_owned).collect()),
        "tool" => {
            let (tool, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
            Act::Named { tool: tool.to_owned(), input: input.to_owned() }
        }
        "task" => Act::Task(rest.replace("{{", "[[").replace("}}", "]]")),
        _ => return None,
    };
    Some(Directive::Act(act))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Item {
        Item::User(text.to_owned())
    }

    fn text(text: &str) -> Step {
        Step { text: Some(text.to_owned()), act: None }
    }

    #[test]
    fn directives_are_played_one_a_request() {
        let prompt = user("please [[say first]] [[shell ls]] [[par a && b]] [[say end]]");
        let shell = Act::Shell("ls".into());
        let step = next(std::slice::from_ref(&prompt));
        assert_eq!(step, Step { text: Some("first".into()), act: Some(shell) });
        let both = Act::Parallel(vec!["a".into(), "b".into()]);
        let step = next(&[prompt.clone(), Item::Result]);
        assert_eq!(step, Step { text: None, act: Some(both) });
        let all = [prompt.clone(), Item::Result, Item::Result, Item::Result];
        assert_eq!(next(&all), text("end"));
        let more = [&all[..], &[user("a word of the program")]].concat();
        assert_eq!(next(&more), text("end"), "only a prompt with directives begins anew");
        let again = [&all[..], &[user("[[say again]]")]].concat();
        assert_eq!(next(&again), text("again"));
    }

    #[test]
    fn texts_of_tasks_and_files_are_unpacked() {
        let step = next(&[user("[[task do {{shell ls}} {{say x}}]]")]);
        assert_eq!(step.act, Some(Act::Task("do [[shell ls]] [[say x]]".into())));
        let step = next(&[user(r"[[write a/b.txt one\ntwo]]")]);
        let text = "one\ntwo\n".to_owned();
        assert_eq!(step.act, Some(Act::Write { path: "a/b.txt".into(), text }));
        let step = next(&[user(r#"[[tool Enter {"name": "x"}]]"#)]);
        let input = r#"{"name": "x"}"#.to_owned();
        assert_eq!(step.act, Some(Act::Named { tool: "Enter".into(), input }));
        assert_eq!(next(&[user("no directive [[nothing known]]")]), super::next(&[]));
    }
}
