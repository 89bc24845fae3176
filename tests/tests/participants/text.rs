//! A participant that keeps a text outside of the log.

use super::*;

/// Something outside of the log: a text. Each change of it is visible to all at once.
#[derive(Clone)]
pub struct Text {
    pub name: &'static str,
    pub now: Arc<Mutex<String>>,
    pub trouble: Trouble,
    pub told: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Trouble {
    None,
    /// The change fails halfway.
    Fails,
    /// The process dies there.
    Dies,
    /// Another program changed the text since: an undo is impossible.
    Stops,
}

impl Text {
    pub fn new(name: &'static str, told: &Arc<Mutex<Vec<String>>>) -> Self {
        Self {
            name,
            now: Arc::new(Mutex::new("first".into())),
            trouble: Trouble::None,
            told: Arc::clone(told),
        }
    }

    pub fn with(&self, trouble: Trouble) -> Self {
        Self { trouble, ..self.clone() }
    }

    pub fn get(&self) -> String {
        self.now.lock().unwrap().clone()
    }

    pub fn set(&self, text: &str) {
        *self.now.lock().unwrap() = text.into();
    }

    pub fn said(&self, text: &str) -> Body {
        Application { name: self.name.into(), data: Data::Bytes(text.into()) }.into()
    }

    /// Returns the text that the history up to a point gives.
    pub fn at(&self, engine: &Engine, task: &milepost::Task, point: &milepost::Point) -> String {
        let lineage = task.lineage_named(point.lineage).unwrap();
        let mut found = "first".to_owned();
        for event in lineage.read(..point.offset).unwrap() {
            if let Some(Body::Application(said)) = event.unwrap().body
                && said.name == self.name
                && let Data::Bytes(bytes) = said.data
            {
                found = String::from_utf8(bytes).unwrap();
            }
        }
        let _ = engine;
        found
    }

    pub fn tell(&self, what: &str) {
        let line = format!("{} {what}", self.name);
        self.told.lock().unwrap().push(line);
    }
}

impl Participant for Text {
    fn name(&self) -> &str {
        self.name
    }

    fn capture(&self, at: &CaptureContext<'_>) -> Result<Vec<Body>> {
        let _ = at;
        self.tell("captured");
        Ok(vec![self.said(&self.get())])
    }

    fn prepare(&self, going: &PrepareContext<'_>) -> Result<RestorePart> {
        self.tell("prepared");
        let to = self.at(going.engine, going.task, going.to);
        let note = serde_json::json!({ "from": self.get(), "to": to });
        Ok(RestorePart {
            participant: self.name.into(),
            place: Data::Json(Json::new("\"memory\"").unwrap()),
            note: Some(Json::from_value(&note).unwrap()),
            plan: ChunkList::default(),
            roots: Vec::<ChunkId>::new(),
        })
    }

    fn apply(&self, _: &Engine, pending: &PendingRestore) -> Result<Vec<Body>> {
        self.tell("applied");
        let to = note(self.name, pending, "to");
        match self.trouble {
            Trouble::None => self.set(&to),
            Trouble::Fails => {
                self.set("half");
                return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
            }
            Trouble::Dies | Trouble::Stops => {
                self.set("half");
                panic!("the process dies");
            }
        }
        Ok(vec![self.said(&to)])
    }

    fn abort(&self, _: &Engine, pending: &PendingRestore) -> Result<()> {
        if self.trouble == Trouble::Stops {
            return Err(Error::new(ErrorKind::Conflict, "another program changed it"));
        }
        self.tell("taken back");
        self.set(&note(self.name, pending, "from"));
        Ok(())
    }

    fn finish(&self, _: &Engine, _: &PendingRestore) -> Result<()> {
        self.tell("cleared");
        Ok(())
    }
}

pub fn note(name: &str, pending: &PendingRestore, key: &str) -> String {
    let parts = &pending.begun.parts;
    let part = parts.iter().find(|part| part.participant == name).unwrap();
    let value = part.note.as_ref().unwrap().value().unwrap();
    value[key].as_str().unwrap().to_owned()
}
