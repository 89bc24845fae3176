//! The lines of an export, and how they are read: `docs/EXPORT.md`. A line's first field names its
//! kind.

use data_encoding::{BASE64, HEXLOWER};
use milepost::events::{Control, LineageBegin};
use milepost::ids::{ChunkId, Head, LogKind, Origin};
use milepost::internals::json_reason;
use milepost::transfer::{ExportBody, ExportChunk, ExportEvent, ExportTask};
use milepost::{Body, CheckpointId, Hash, Header, LineageId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Version of an export whose events may be withheld.
pub const VERSION_WITHHELD: u32 = 2;

/// The first bytes of every export.
pub const BEGINNING: &str = r#"{"milepost_export":"#;

/// A line of an export.
#[derive(Debug)]
pub enum ExportLine {
    /// The first line.
    Header(ExportHeader),
    /// A task.
    Task(ExportTask),
    /// A chunk of a task.
    Chunk(ExportChunk),
    /// An event of a task.
    Event(ExportEvent),
    /// The last line.
    End(End),
}

/// A number that may exceed 2^53, as a string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Big(pub u64);

impl Serialize for Big {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Big {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        // `parse` accepts a sign, too.
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| plain);
        let invalid = || serde::de::Error::custom(format!("`{text}` is no number of 64 bits"));
        number.map(Self).ok_or_else(invalid)
    }
}

/// The first line: the contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportHeader {
    /// The version of the format.
    pub milepost_export: u32,
    /// The number of tasks.
    pub tasks: Big,
    /// True if captured files are included.
    pub files: bool,
    /// True if secrets are redacted.
    pub redacted: bool,
    /// Id of the store's key, if the store has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The last line: the counts, and the digest of the lines before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The counts of the lines before.
    pub end: Counts,
    /// The BLAKE3 hash of the lines before.
    pub digest: Hash,
}

/// Number of lines of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// The number of tasks.
    pub tasks: Big,
    /// The number of events.
    pub events: Big,
    /// The number of chunks.
    pub chunks: Big,
}

/// A log of a task: `control`, or the number of a lineage.
#[derive(Debug, Clone, Copy)]
pub struct Log(pub LogKind);

impl Serialize for Log {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            LogKind::Control => s.serialize_str("control"),
            LogKind::Lineage(lineage) => s.collect_str(&lineage),
        }
    }
}

impl<'de> Deserialize<'de> for Log {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if text == "control" {
            return Ok(Self(LogKind::Control));
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok();
        // The highest number is the control log in stored data.
        let number = number.filter(|number| plain && *number != u32::MAX);
        let invalid = || serde::de::Error::custom(format!("`{text}` is no log of a task"));
        let lineage = number.map(|number| Self(LogKind::Lineage(LineageId(number))));
        lineage.ok_or_else(invalid)
    }
}

/// A point in a log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointForm {
    pub log: Log,
    pub next: Big,
    pub hash: Hash,
}

/// The line of a task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskForm {
    pub task: String,
    pub user: String,
    pub created_us: Big,
    pub origin: Origin,
    pub active: Big,
    pub heads: Vec<PointForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begins: Vec<PointForm>,
}

/// The line of a chunk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkForm {
    pub chunk: ChunkId,
    #[serde(default, skip_serializing_if = "is_false")]
    pub pieces: bool,
    pub base64: String,
}

fn is_false(is: &bool) -> bool {
    !is
}

/// The line of an event.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Log>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Big>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_us: Option<Big>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// The header as base64, if it has more than the fields above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The chain hash before a trusted event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// Number of the kind, unless the body has its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    /// The bytes at the beginning and at the end of a payload in chunks that the record has inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunked: Option<[usize; 2]>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub body: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<Hash>,
    /// The hash of a body that is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Hash>,
    /// Set if the header is redacted, and the chain hash is taken on trust.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trusted: bool,
    /// The body of a withheld or trusted event, as the file may have it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<&'a RawValue>,
}

/// Parses a line without its line end.
pub fn parse(text: &str) -> Result<ExportLine, String> {
    let first = text.strip_prefix("{\"").and_then(|rest| rest.split('"').next());
    match first {
        Some("milepost_export") => header(text).map(ExportLine::Header),
        Some("task") => task(&from(text)?).map(ExportLine::Task),
        Some("chunk") => chunk(from(text)?).map(ExportLine::Chunk),
        Some("log") => event(from(text)?).map(ExportLine::Event),
        Some("end") => from(text).map(ExportLine::End),
        Some(other) => Err(format!("no line begins with `{other}`")),
        None => Err("it is no line of an export".to_owned()),
    }
}

fn from<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| json_reason(&error))
}

fn header(text: &str) -> Result<ExportHeader, String> {
    #[derive(Deserialize)]
    struct Version {
        milepost_export: u32,
    }
    let Version { milepost_export } = from(text)?;
    if !(VERSION..=VERSION_WITHHELD).contains(&milepost_export) {
        return Err(format!(
            "the export has version {milepost_export}, this milepost reads versions {VERSION} to \
             {VERSION_WITHHELD}: update milepost"
        ));
    }
    from(text)
}

fn task(form: &TaskForm) -> Result<ExportTask, String> {
    let lineage = |log: LogKind| match log {
        LogKind::Lineage(lineage) => Ok(lineage),
        LogKind::Control => Err("`begins` has lineages only".to_owned()),
    };
    let head = |form: &PointForm| Head { next: form.next.0, hash: form.hash };
    let begins = form
        .begins
        .iter()
        .map(|form| Ok(LineageBegin { lineage: lineage(form.log.0)?, head: head(form) }));
    let active = u32::try_from(form.active.0);
    Ok(ExportTask {
        id: form.task.clone(),
        user: form.user.clone(),
        created_us: form.created_us.0,
        origin: form.origin,
        active: LineageId(active.map_err(|_| format!("no lineage {}", form.active.0))?),
        heads: form.heads.iter().map(|form| (form.log.0, head(form))).collect(),
        begins: begins.collect::<Result<_, String>>()?,
    })
}

fn chunk(form: ChunkForm) -> Result<ExportChunk, String> {
    Ok(ExportChunk {
        id: form.chunk,
        pieces: form.pieces,
        content: base64("base64", &form.base64)?,
    })
}

fn event(form: EventForm<'_>) -> Result<ExportEvent, String> {
    let log = form.log.ok_or("`log` is missing")?.0;
    let (kind, body) = kind_and_body(&form, log)?;
    let header = match &form.header {
        Some(header) => {
            let header = base64("header", header)?;
            let decoded = Header::decode(&header).map_err(|error| error.to_string())?;
            match decoded.kind == kind {
                true => header,
                false => return Err(format!("`header` is of kind {}, not {kind}", decoded.kind)),
            }
        }
        None => {
            let time_us = form.time_us.ok_or("`time_us` is missing")?.0;
            Header {
                kind,
                time_us,
                actor: form.actor,
                user: form.user,
                correlation: form.correlation,
                key: form.key,
                batch: form.batch.unwrap_or(0),
            }
            .encode()
        }
    };
    Ok(ExportEvent {
        log,
        offset: form.at.ok_or("`at` is missing")?.0,
        header,
        body,
        salt: form.salt.as_deref().map(salt).transpose()?,
        hash: form.hash,
        checkpoint: form.checkpoint,
    })
}

/// Returns the kind and the body of an event.
fn kind_and_body(form: &EventForm<'_>, log: LogKind) -> Result<(u16, ExportBody), String> {
    if let Some(body) = withheld(form, log)? {
        return Ok((number(form)?, body));
    }
    let number = || number(form);
    let carried = |payload: Vec<u8>| match form.chunked {
        Some([before, after]) if before.saturating_add(after) > payload.len() => {
            Err(format!("`chunked` has ends of more than the {} bytes of the body", payload.len()))
        }
        Some(ends) => Ok(ExportBody::Chunked { payload, ends }),
        None => Ok(ExportBody::Inline(payload)),
    };
    match (form.body, &form.raw, &form.list, form.erased) {
        (Some(body), None, None, None) => {
            let (kind, payload) = encoded(log, body)?;
            Ok((kind, carried(payload)?))
        }
        // `body` may be present too, for people.
        (_, Some(raw), None, None) => Ok((number()?, carried(base64("raw", raw)?)?)),
        (None, None, Some(list), None) => {
            Ok((number()?, ExportBody::Listed(base64("list", list)?)))
        }
        (None, None, None, Some(hash)) => Ok((number()?, ExportBody::Erased(hash))),
        _ => Err("an event has one of `body`, `raw`, `list` and `erased`".to_owned()),
    }
}

/// Returns the body of an event, if it is withheld or trusted.
fn withheld(form: &EventForm<'_>, log: LogKind) -> Result<Option<ExportBody>, String> {
    if form.previous.is_some() && !form.trusted {
        return Err("`previous` is for an event that is `trusted`".to_owned());
    }
    let hash = match (form.withheld, form.trusted, form.shown) {
        (None, false, None) => return Ok(None),
        (Some(hash), false, _) => Some(hash),
        (None, true, _) => None,
        (Some(_), true, _) => return Err("an event is `withheld` or `trusted`, not both".into()),
        (None, false, Some(_)) => {
            return Err("`shown` is for an event that is `withheld` or `trusted`".into());
        }
    };
    let EventForm { salt, body, raw, list, erased, chunked, .. } = form;
    let is_there = body.is_some() || raw.is_some() || list.is_some() || erased.is_some();
    if is_there || salt.is_some() || chunked.is_some() {
        return Err("a withheld event has no `salt`, `body`, `raw`, `list`, `erased` or `chunked`"
            .to_owned());
    }
    if form.trusted && form.hash.is_none() {
        return Err("`hash` is missing".to_owned());
    }
    let shown = form.shown.map(|shown| encoded(log, shown)).transpose()?;
    let shown = match shown {
        Some((kind, payload)) if kind == number(form)? => Some(payload),
        Some((kind, _)) => {
            return Err(format!("`shown` is of kind {kind}, not {}", number(form)?));
        }
        None => None,
    };
    Ok(Some(ExportBody::Withheld { hash, shown }))
}

/// Returns the kind and the payload of a body in JSON.
fn encoded(log: LogKind, body: &RawValue) -> Result<(u16, Vec<u8>), String> {
    let encoded = match log {
        LogKind::Control => Control::from_json(body.get()).map(|body| body.encode()),
        LogKind::Lineage(_) => Body::from_json(body.get()).map(|body| body.encode()),
    };
    encoded.map_err(|error| error.to_string())
}

fn number(form: &EventForm<'_>) -> Result<u16, String> {
    form.number.ok_or_else(|| "`number` is missing".to_owned())
}

fn base64(field: &str, text: &str) -> Result<Vec<u8>, String> {
    let decoded = BASE64.decode(text.as_bytes());
    decoded.map_err(|error| format!("`{field}` is not base64: {error}"))
}

fn salt(text: &str) -> Result<[u8; 16], String> {
    let bytes = HEXLOWER.decode(text.as_bytes()).ok();
    let salt = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    salt.ok_or_else(|| format!("`salt` is `{text}`, not 32 hexadecimal digits"))
}
