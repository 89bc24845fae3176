//! Events of a lineage: a page as JSON, or all as JSON lines.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use milepost::{Event, Lineage, LineageId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::limit;
use super::stream::{Begin, stream};
use crate::app::App;
use crate::auth::Caller;
use crate::buffer::Buffer;
use crate::cors::vary;
use crate::error::{ApiError, ReadProblems};
use crate::etag::{Known, Tag, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::{Big, EventForm, RangeForm};
use crate::negotiate::{EVENT_STREAM, JSON, JSON_LINES, choose};
use crate::request_scope::RequestId;
use crate::stream_body::{self, BUFFER, Source};
use crate::view::View;

/// Default and maximum page size.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(range))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RangeQuery {
    /// The first offset. Default: the first readable one.
    from: Option<Big>,
    /// The end offset, exclusive. Default: the head.
    to: Option<Big>,
    /// The maximum number of events: 1 to 1,000. Default: 100 as JSON, all as lines.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// The lineage. Default: the active one.
    #[param(value_type = Option<u64>, maximum = 4_294_967_295_u64)]
    lineage: Option<u32>,
    /// For streams: `false` ends the stream at the head.
    follow: Option<bool>,
}

impl RangeQuery {
    /// Checks that the parameters fit the form: a stream follows the task and takes no range.
    fn check(&self, form: &'static str) -> Result<(), ApiError> {
        let wrong = match form {
            EVENT_STREAM if self.to.is_some() || self.limit.is_some() || self.lineage.is_some() => {
                "a stream takes `from` and `follow`: it follows the task from there on"
            }
            EVENT_STREAM => return Ok(()),
            _ if self.follow.is_some() => "`follow` is of streams: ask for `text/event-stream`",
            _ => return Ok(()),
        };
        Err(ApiError::Invalid(wrong.into()))
    }
}

/// Returns events of a lineage, including those before its fork.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/events",
    operation_id = "events",
    tag = "events",
    params(
        ("task" = String, Path, description = "The task's id"),
        RangeQuery,
        ("Accept" = Option<String>, Header, description = "`application/x-ndjson`: one a line, as \
            long as it takes; `text/event-stream`: as they are committed"),
        ("Last-Event-ID" = Option<String>, Header, description = "Of a stream: where an earlier \
            one has come to, LINEAGE:NEXT"),
        ("If-None-Match" = Option<String>, Header, description = "ETags of what is known"),
    ),
    responses(
        (
            status = 200,
            content((RangeForm = "application/json"), (String = "application/x-ndjson"), (String = "text/event-stream")),
            headers(("ETag" = String, description = "By the head's hash")),
        ),
        (status = 304, description = "It is known"),
        ReadProblems,
        (status = 406),
        (status = 503),
    ),
)]
async fn range(
    State(app): State<App>,
    caller: Caller,
    known: Known,
    id: RequestId,
    headers: HeaderMap,
    PathName(task): PathName,
    Query(query): Query<RangeQuery>,
) -> Result<Response, ApiError> {
    let form = choose(&headers, &[JSON, JSON_LINES, EVENT_STREAM])?;
    query.check(form)?;
    let mut response = match form {
        EVENT_STREAM => {
            let begin = Begin {
                task,
                from: query.from.map(|Big(from)| from),
                follow: query.follow.unwrap_or(true),
            };
            stream(&app, caller, id, &headers, begin).await?
        }
        JSON_LINES => lines(&app, caller, known, id, task, query).await?,
        _ => page(&app, caller, known, id, task, query).await?,
    };
    vary(response.headers_mut(), &header::ACCEPT);
    Ok(response)
}

async fn page(
    app: &App,
    caller: Caller,
    known: Known,
    id: RequestId,
    task: String,
    query: RangeQuery,
) -> Result<Response, ApiError> {
    let limit = limit(query.limit, LIMIT, LIMIT_MAX)?;
    let found = app.view(&caller, move |view| {
        let range = Range::of(view, &task, &query)?;
        Tagged::unless(&known, range.tag.clone().and("json"), || Ok(Page::of(range, limit)))
    });
    stream_body::tagged(app, &caller, id, JSON, found.await?).await
}

async fn lines(
    app: &App,
    caller: Caller,
    known: Known,
    id: RequestId,
    task: String,
    query: RangeQuery,
) -> Result<Response, ApiError> {
    let most = match query.limit {
        Some(_) => Some(limit(query.limit, LIMIT, LIMIT_MAX)? as u64),
        None => None,
    };
    let found = app.view(&caller, move |view| {
        let Range { lineage, from, to, tag, .. } = Range::of(view, &task, &query)?;
        let to = most.map_or(to, |most| to.min(from.saturating_add(most)));
        let lines = Lines { lineage, next: from, to, before: from };
        Tagged::unless(&known, tag.and("ndjson"), || Ok(lines))
    });
    stream_body::tagged(app, &caller, id, JSON_LINES, found.await?).await
}

/// A checked range of events.
struct Range {
    lineage: Lineage,
    from: u64,
    to: u64,
    head: u64,
    tag: Tag,
}

impl Range {
    fn of(view: &View<'_>, task: &str, query: &RangeQuery) -> Result<Self, ApiError> {
        let (from, to) = (query.from.map(|from| from.0), query.to.map(|to| to.0));
        if let (Some(from), Some(to)) = (from, to)
            && to < from
        {
            let text = format!("a range ends at or behind its beginning, {from}, and not at {to}");
            return Err(ApiError::Invalid(text));
        }
        let task = view.task(task)?;
        // Read before the events: an event erased in between must not get the old tag.
        let erased = task.erased();
        let lineage = match query.lineage {
            Some(id) => task.lineage_named(LineageId(id))?,
            None => task.lineage().clone(),
        };
        let info = lineage.info()?;
        let from = match from.unwrap_or_default() {
            0 => info.begin,
            from => from,
        };
        // Fails if the range begins at an unreadable offset.
        lineage.read(from..from)?;
        let head = info.head;
        Ok(Self {
            lineage,
            from,
            to: to.unwrap_or(head.next).min(head.next),
            head: head.next,
            tag: Tag::new(head.hash).and(from).erased(erased),
        })
    }
}

/// The approximate maximum size of a page in bytes; a single event may be longer.
const PAGE_MAX: usize = 4 << 20;

/// A [`RangeForm`] that is written while its events are read.
struct Page {
    range: Range,
    limit: usize,
    /// The current position, and the start of the last buffer.
    now: Written,
    before: Written,
}

/// The progress of a page.
#[derive(Debug, Clone, Copy)]
struct Written {
    next: u64,
    events: usize,
    bytes: usize,
    ended: bool,
}

impl Page {
    fn of(range: Range, limit: usize) -> Self {
        let now = Written { next: range.from, events: 0, bytes: 0, ended: false };
        Self { range, limit, now, before: now }
    }

    /// Writes one more event; returns false if the page is full.
    fn take(&mut self, event: Event, buffer: &mut Vec<u8>) -> Result<bool, ApiError> {
        let (now, from) = (&mut self.now, buffer.len());
        if now.events == self.limit {
            return Ok(false);
        }
        let next = event.offset.saturating_add(1);
        if now.events > 0 {
            buffer.push(b',');
        }
        item(event, buffer)?;
        let bytes = now.bytes.saturating_add(buffer.len() - from);
        if now.events > 0 && bytes > PAGE_MAX {
            buffer.truncate(from);
            return Ok(false);
        }
        (now.next, now.events, now.bytes) = (next, now.events + 1, bytes);
        Ok(true)
    }

    fn end(&mut self, next: Option<u64>, buffer: &mut Vec<u8>) -> Result<(), ApiError> {
        self.now.ended = true;
        let (next, head) = (next.map(Big), Big(self.range.head));
        buffer.extend_from_slice(b"],\"next\":");
        serde_json::to_writer(&mut *buffer, &next).map_err(|_| ApiError::Bug)?;
        buffer.extend_from_slice(b",\"head\":");
        serde_json::to_writer(&mut *buffer, &head).map_err(|_| ApiError::Bug)?;
        buffer.push(b'}');
        Ok(())
    }
}

impl Source for Page {
    fn again(&mut self) -> bool {
        self.now = self.before;
        true
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        self.before = self.now;
        if self.now.ended {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        if self.now.events == 0 {
            buffer.extend_from_slice(b"{\"items\":[");
        }
        for event in self.range.lineage.read(self.now.next..self.range.to)? {
            let event = event?;
            let at = event.offset;
            if !self.take(event, &mut buffer)? {
                self.end(Some(at), &mut buffer)?;
                return Ok(Some(buffer));
            }
            if buffer.len() >= BUFFER {
                return Ok(Some(buffer));
            }
        }
        self.end(None, &mut buffer)?;
        Ok(Some(buffer))
    }
}

/// Events as JSON lines. Only the position is kept between buffers, so that events erased or
/// deleted in between are not sent.
struct Lines {
    lineage: Lineage,
    next: u64,
    to: u64,
    /// The start of the last buffer.
    before: u64,
}

impl Source for Lines {
    fn again(&mut self) -> bool {
        self.next = self.before;
        true
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::new();
        self.before = self.next;
        if self.next >= self.to {
            return Ok(None);
        }
        for event in self.lineage.read(self.next..self.to)? {
            let event = event?;
            self.next = event.offset.saturating_add(1);
            line(event, &mut buffer)?;
            if buffer.len() >= BUFFER {
                return Ok(Some(buffer));
            }
        }
        match self.next >= self.to {
            true => Ok(Some(buffer)),
            // The answer must not look complete if it is too short.
            false => Err(ApiError::Bug),
        }
    }
}

/// Appends an event as an item of a list.
fn item(event: Event, out: &mut Vec<u8>) -> Result<(), ApiError> {
    serde_json::to_writer(Buffer::new(out), &EventForm::from(event)).map_err(|_| ApiError::Bug)
}

/// Appends an event as a line.
fn line(event: Event, out: &mut Vec<u8>) -> Result<(), ApiError> {
    item(event, out)?;
    out.push(b'\n');
    Ok(())
}
