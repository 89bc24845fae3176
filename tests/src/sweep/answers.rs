//! All questions to a store. They come from the intact store: a damaged one gets the same, whatever
//! its own index has.

use std::collections::BTreeMap;

use milepost::events::MarkStatus;
use milepost::query::{CheckpointQuery, Page, TaskQuery};
use milepost::state::{MessageRange, RunReducer};
use milepost::{Append, Checkpoint, Engine, Error, ErrorKind, Event, Reducer, Result};

use super::stores::{Keyed, Left, keys};

/// An answer, with as much meaning as it takes to say whether another one lacks something.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// One event.
    Event(Box<Event>),
    /// A text, which may differ but cannot be less.
    Text(String),
    /// A state, as bytes, and as JSON with all that it refers to.
    State(Vec<u8>, String),
    /// A number, a position, or the offset of the newest: less if something is missing.
    Count(u64),
    /// A list: without some of its items where something is missing.
    List(Vec<String>),
    /// The offset of an append with this key; `None` if it is not known.
    Key(Option<u64>),
}

/// An error as an answer.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: ErrorKind,
    pub message: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { kind: error.kind(), message: error.to_string() }
    }
}

pub type Answers = BTreeMap<String, Result<Answer, Failure>>;

/// Questions to a store.
pub struct Questions {
    /// Tasks, and the head of each of their lineages.
    tasks: Vec<(String, Vec<u64>)>,
    labels: Vec<String>,
    checkpoints: Vec<String>,
    keys: Vec<Keyed>,
}

impl Questions {
    /// The questions that a whole store has answers to.
    pub fn of(engine: &Engine, left: Left) -> Self {
        let mut tasks = Vec::new();
        for info in engine.query().tasks(&TaskQuery::default()).unwrap().items {
            let lineages = engine.task(&info.id).unwrap().lineages().unwrap();
            tasks.push((info.id, lineages.iter().map(|l| l.head.next).collect()));
        }
        let all = checkpoints(engine, CheckpointQuery::default()).unwrap();
        let mut labels: Vec<_> = all.iter().filter_map(|c| c.label.clone()).collect();
        labels.sort();
        labels.dedup();
        Self {
            tasks,
            labels,
            checkpoints: all.iter().map(|c| c.id.to_string()).collect(),
            keys: keys(left),
        }
    }

    /// Asks them.
    pub fn ask(&self, engine: &Engine) -> Answers {
        let mut answers = Asking::default();
        self.lists(engine, &mut answers);
        for (task, heads) in &self.tasks {
            answers.text(&format!("owner of {task}"), || Ok(engine.task(task)?.user().to_owned()));
            answers.text(&format!("active lineage of {task}"), || {
                let task = engine.task(task)?;
                Ok(format!("{} in {}", task.lineage().id(), task.epoch()))
            });
            answers.list(&format!("lineages of {task}"), || {
                let all = engine.task(task)?.lineages()?;
                let all = all.iter().map(|l| {
                    let text = (&l.lineage_type, &l.description, &l.parent, l.opened_us);
                    format!("{} {text:?} {}", l.id, l.active)
                });
                Ok(all.collect())
            });
            for (lineage, head) in heads.iter().enumerate() {
                self.lineage(engine, task, lineage, *head, &mut answers);
            }
        }
        // The last, since a key that is not known is appended.
        for keyed in &self.keys {
            answers.ask(format!("key {} of {}", keyed.key, keyed.task), || {
                let append = Append::from(keyed.bodies.clone()).key(keyed.key.clone());
                let done = engine.task(keyed.task)?.append(append)?;
                Ok(Answer::Key(done.repeated.then_some(done.first)))
            });
        }
        answers.0
    }

    fn lists(&self, engine: &Engine, answers: &mut Asking) {
        let users = [None, Some("ana"), Some("ben")];
        for user in users.map(|user| user.map(str::to_owned)) {
            answers.list(&format!("tasks of {user:?}"), || {
                let query = TaskQuery { user: user.clone(), ..TaskQuery::default() };
                let tasks = engine.query().tasks(&query)?.items.into_iter();
                let text = tasks.map(|t| format!("{} {} {} {}", t.id, t.user, t.no.0, t.active));
                Ok(text.collect())
            });
        }
        let mut queries = vec![CheckpointQuery::default()];
        for status in [MarkStatus::Success, MarkStatus::Failure] {
            queries.push(CheckpointQuery { status: Some(status), ..CheckpointQuery::default() });
        }
        queries.extend(self.tasks.iter().map(|(task, _)| CheckpointQuery {
            task: Some(task.clone()),
            ..CheckpointQuery::default()
        }));
        queries.push(CheckpointQuery {
            filter: vec![("n".into(), 2.into())],
            ..CheckpointQuery::default()
        });
        for query in queries {
            let name =
                format!("checkpoints of {:?} {:?} {:?}", query.task, query.status, query.filter);
            answers.list(&name, || {
                let all = checkpoints(engine, query)?;
                Ok(all.iter().map(|c| format!("{c:?}")).collect())
            });
        }
        for id in &self.checkpoints {
            answers.text(&format!("checkpoint @{id}"), || {
                Ok(format!("{:?}", engine.query().checkpoint(id)?))
            });
        }
        type Number = fn(&milepost::metrics::Stats) -> u64;
        let numbers: [(&str, Number); 4] = [
            ("tasks", |s| s.tasks),
            ("lineages", |s| s.lineages),
            ("events", |s| s.events),
            ("checkpoints", |s| s.checkpoints),
        ];
        for (name, number) in numbers {
            answers.count(&format!("how many {name}"), || Ok(number(&engine.store().stats()?)));
        }
    }

    fn lineage(
        &self,
        engine: &Engine,
        task: &str,
        lineage: usize,
        head: u64,
        answers: &mut Asking,
    ) {
        let name = format!("{task}/{lineage}");
        answers.count(&format!("head of {name}"), || Ok(engine.point(&name)?.offset));
        answers.text(&format!("hash at {name}@{head}"), || {
            let point = engine.point(&format!("{name}@{head}"))?;
            Ok(engine.hash_at(&point)?.to_string())
        });
        let handle = || {
            let point = engine.point(&name)?;
            engine.task(task)?.lineage_named(point.lineage)
        };
        events(&name, head, handle, answers);
        for label in &self.labels {
            answers.newest(&format!("label {name}@{label}"), || {
                engine.point(&format!("{name}@{label}")).map(|p| p.offset)
            });
        }
        answers.count(&format!("checkpoint {name}~1"), || {
            engine.point(&format!("{name}~1")).map(|p| p.offset)
        });
        answers.newest(&format!("last successful of {name}"), || {
            let last = handle()?.last_successful()?;
            last.map(|c| c.mark).ok_or_else(|| Error::not_found("none"))
        });
        for at in [head, head / 2] {
            state(engine, &format!("{name}@{at}"), at == head, answers);
        }
    }
}

/// Each event, read in order as long as that goes well, and behind each that cannot be read.
fn events(
    name: &str,
    head: u64,
    handle: impl Fn() -> Result<milepost::Lineage>,
    answers: &mut Asking,
) {
    let (mut next, mut reading) = (0, None);
    while next < head {
        let event = match &mut reading {
            None => match handle().and_then(|lineage| lineage.read(next..)) {
                Ok(events) => {
                    reading = Some(events);
                    continue;
                }
                Err(error) => Err(error),
            },
            Some(events) => match events.next() {
                Some(event) => event,
                None => Err(Error::not_found("the lineage ends before it")),
            },
        };
        if event.is_err() {
            reading = None;
        }
        answers.ask(format!("event {name}@{next}"), || {
            event.map(|event| Answer::Event(Box::new(event)))
        });
        next += 1;
    }
}

/// A state, and where `whole`, all that it refers to.
fn state(engine: &Engine, name: &str, whole: bool, answers: &mut Asking) {
    answers.ask(format!("state {name}"), || {
        let point = engine.point(name)?;
        let mut tries = 0;
        loop {
            let state = engine.run_state(&point)?;
            let bytes = RunReducer.encode(&state)?;
            if !whole {
                return Ok(Answer::State(bytes, String::new()));
            }
            match state.to_json(&*engine.chunks(), MessageRange::All) {
                Ok(json) => return Ok(Answer::State(bytes, json.to_string())),
                // A chunk of a sequence is damaged, which is seen after the state was given. Asked
                // again, the state is folded from events, and what is damaged is stored anew.
                Err(error) if error.kind() == ErrorKind::Corrupt && tries < 20 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    });
}

fn checkpoints(engine: &Engine, mut query: CheckpointQuery) -> Result<Vec<Checkpoint>> {
    query.limit = Some(10);
    let mut all = Vec::new();
    loop {
        let Page { items, next } = engine.query().checkpoints(&query)?;
        all.extend(items);
        query.cursor = next;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

#[derive(Default)]
struct Asking(Answers);

impl Asking {
    fn ask(&mut self, question: String, answer: impl FnOnce() -> Result<Answer>) {
        self.0.insert(question, answer().map_err(Failure::from));
    }

    fn text(&mut self, question: &str, answer: impl FnOnce() -> Result<String>) {
        self.ask(question.into(), || answer().map(Answer::Text));
    }

    fn count(&mut self, question: &str, answer: impl FnOnce() -> Result<u64>) {
        self.ask(question.into(), || answer().map(Answer::Count));
    }

    fn list(&mut self, question: &str, answer: impl FnOnce() -> Result<Vec<String>>) {
        self.ask(question.into(), || answer().map(Answer::List));
    }

    /// The offset of the newest of its kind, which a whole store may lack as well.
    fn newest(&mut self, question: &str, answer: impl FnOnce() -> Result<u64>) {
        self.ask(question.into(), || match answer() {
            Ok(offset) => Ok(Answer::Count(offset + 1)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Answer::Count(0)),
            Err(error) => Err(error),
        });
    }
}

/// Kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// An error that reports damage of the content.
    Damaged,
    /// The answer lacks something, or says that the item does not exist.
    Lost,
    /// An error of another kind, which does not name the cause.
    Failed,
    /// Another answer.
    Wrong,
}

/// One changed answer.
#[derive(Debug, Clone)]
pub struct Difference {
    pub question: String,
    pub how: How,
    pub text: String,
}

/// Returns the differences from the answers of the intact store.
pub fn compare(truth: &Answers, now: &Answers) -> Vec<Difference> {
    let mut found = Vec::new();
    for (question, wanted) in truth {
        let wanted = wanted.as_ref().unwrap();
        let (how, text) = match now.get(question) {
            None => (How::Wrong, "not asked".to_owned()),
            Some(Ok(answer)) if answer == wanted => continue,
            Some(Ok(answer)) => {
                let how = if lacks(answer, wanted) { How::Lost } else { How::Wrong };
                (how, format!("{} for {}", short(answer), short(wanted)))
            }
            Some(Err(failure)) => {
                let how = match failure.kind {
                    ErrorKind::Corrupt => How::Damaged,
                    ErrorKind::NotFound | ErrorKind::Invalid => How::Lost,
                    _ => How::Failed,
                };
                (how, format!("{:?}: {}", failure.kind, failure.message))
            }
        };
        found.push(Difference { question: question.clone(), how, text });
    }
    found
}

/// Returns `true` if an answer is the original one with something missing.
fn lacks(answer: &Answer, wanted: &Answer) -> bool {
    match (answer, wanted) {
        (Answer::Count(now), Answer::Count(wanted)) => now < wanted,
        (Answer::List(now), Answer::List(wanted)) => {
            let mut wanted = wanted.iter();
            now.iter().all(|item| wanted.any(|other| other == item))
        }
        (Answer::Key(None), Answer::Key(Some(_))) => true,
        _ => false,
    }
}

fn short(answer: &Answer) -> String {
    let text = match answer {
        Answer::List(list) => format!("{} items", list.len()),
        Answer::Text(text) => text.clone(),
        Answer::State(bytes, _) => format!("a state of {} bytes", bytes.len()),
        other => format!("{other:?}"),
    };
    text.chars().take(160).collect()
}
