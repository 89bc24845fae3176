//! Events of a lineage: a page as JSON, or all as JSON lines.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use milepost::calls::Cancel;
use milepost::{Event, Lineage, LineageId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::event_filter::EventFilter;
use super::points::{check_cut, cut_event};
use super::stream::{Begin, stream};
use crate::app::App;
use crate::auth::Caller;
use crate::buffer::{Buffer, one_line};
use crate::cors::vary;
use crate::error::ApiError;
use crate::etag::{Known, Tagged};
use crate::extract::{PathName, Query};
use crate::forms::{Big, RangeForm};
use crate::negotiate::{EVENT_STREAM, JSON, JSON_LINES, choose};
use crate::request_scope::RequestId;
use crate::states;
use crate::stream_body::{self, BUFFER, Source};
use milepost_api::ReadProblems;
use milepost_service::Tag;
use milepost_service::operations::{ordered, page_size};
use milepost_service::{View, erasures, forms};

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
    /// Only events of these kinds, separated by commas: `message,step_finished`. Default: all.
    kind: Option<String>,
    /// Only events of this iteration: the one of the state right after an event. Default: all.
    iteration: Option<Big>,
    /// Cuts texts of the bodies that are longer than this many bytes, as `event?cut=` does. At
    /// least 256. Not for streams.
    #[param(minimum = 256)]
    cut: Option<usize>,
    /// For streams: `false` ends the stream at the head.
    follow: Option<bool>,
}

impl RangeQuery {
    /// Checks that the parameters fit the form: a stream follows the task and takes no range.
    fn check(&self, form: &'static str) -> Result<(), ApiError> {
        let filters = self.kind.is_some() || self.iteration.is_some() || self.cut.is_some();
        let ranges = self.to.is_some() || self.limit.is_some() || self.lineage.is_some();
        let wrong = match form {
            EVENT_STREAM if ranges || filters => {
                "a stream takes `from` and `follow`: it follows the task from there on"
            }
            EVENT_STREAM => return Ok(()),
            _ if self.follow.is_some() => "`follow` is of streams: ask for `text/event-stream`",
            _ => return Ok(()),
        };
        Err(ApiError::Invalid(wrong.into()))
    }

    fn filter(&self) -> Result<EventFilter, ApiError> {
        EventFilter::new(self.kind.as_deref(), self.iteration.map(|Big(iteration)| iteration))
    }
}

/// Returns events of a lineage, including those before its fork. With `kind` or `iteration` a page
/// may have few events, or none, and still a `next`.
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
            content(
                (RangeForm = "application/json"),
                (String = "application/x-ndjson"),
                (String = "text/event-stream"),
            ),
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
    check_cut(query.cut)?;
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
    let limit = page_size(query.limit, LIMIT, LIMIT_MAX)?;
    let filter = query.filter()?;
    let found = app.view(&caller, move |view| {
        let range = Range::of(view, &task, &query)?;
        Tagged::unless(&known, range.tag.clone().and("json"), || Ok(range))
    });
    let page = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, range) => {
            let filter = begun(app, &caller, filter, &range).await?;
            Tagged::New(tag, Page::of(range, limit, filter))
        }
    };
    stream_body::tagged(app, &caller, id, JSON, page).await
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
        Some(_) => page_size(query.limit, LIMIT, LIMIT_MAX)? as u64,
        None => u64::MAX,
    };
    let filter = query.filter()?;
    let found = app.view(&caller, move |view| {
        let range = Range::of(view, &task, &query)?;
        Tagged::unless(&known, range.tag.clone().and("ndjson"), || Ok(range))
    });
    let lines = match found.await? {
        Tagged::Same(tag) => Tagged::Same(tag),
        Tagged::New(tag, range) => {
            let filter = begun(app, &caller, filter, &range).await?;
            let now = Place { next: range.from, left: most, filter };
            let (lineage, cut, before) = (range.lineage, range.cut, now.clone());
            Tagged::New(tag, Lines { lineage, to: range.to, cut, now, before })
        }
    };
    stream_body::tagged(app, &caller, id, JSON_LINES, lines).await
}

/// Returns a filter at the beginning of a range. The iteration there is that of the state.
async fn begun(
    app: &App,
    caller: &Caller,
    mut filter: EventFilter,
    range: &Range,
) -> Result<EventFilter, ApiError> {
    if filter.needs_iteration() && range.from > 0 {
        let point = range.lineage.point(range.from)?;
        filter.begin(states::at(app, caller, point).await?.iteration);
    }
    Ok(filter)
}

/// A checked range of events.
struct Range {
    lineage: Lineage,
    from: u64,
    to: u64,
    head: u64,
    cut: Option<usize>,
    tag: Tag,
}

impl Range {
    fn of(view: &View<'_>, task: &str, query: &RangeQuery) -> Result<Self, ApiError> {
        let (from, to) = ordered(query.from, query.to)?;
        let task = view.task(task)?;
        // Read before the events: an event erased in between must not get the old tag.
        let erased = erasures(&task)?;
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
        let tag = Tag::new(head.hash).and(from).erased(erased);
        let filter = query.filter()?;
        let tag = match filter.takes_all() {
            true => tag,
            false => tag.and(filter.tag()),
        };
        let tag = match query.cut {
            Some(most) => tag.and(format_args!("c{most}")),
            None => tag,
        };
        let to = to.unwrap_or(head.next).min(head.next);
        Ok(Self { lineage, from, to, head: head.next, cut: query.cut, tag })
    }
}

/// The approximate maximum size of a page in bytes; a single event may be longer.
const PAGE_MAX: usize = 4 << 20;

/// The maximum number of events that a page reads, and that are read at a time.
const READ_MAX: usize = 10_000;
const PIECE: usize = 1_000;

/// A [`RangeForm`] that is written while its events are read.
struct Page {
    range: Range,
    limit: usize,
    /// The current position, and the start of the last buffer.
    now: Written,
    before: Written,
}

/// The progress of a page.
#[derive(Debug, Clone)]
struct Written {
    next: u64,
    /// The numbers of events that were read, and that passed the filter.
    read: usize,
    events: usize,
    bytes: usize,
    begun: bool,
    ended: bool,
    filter: EventFilter,
}

impl Page {
    fn of(range: Range, limit: usize, filter: EventFilter) -> Self {
        let now = Written {
            next: range.from,
            read: 0,
            events: 0,
            bytes: 0,
            begun: false,
            ended: false,
            filter,
        };
        Self { range, limit, before: now.clone(), now }
    }

    /// Reads one more event, and writes it if it passes the filter; returns false if the page is
    /// full.
    fn take(&mut self, event: Event, buffer: &mut Vec<u8>) -> Result<bool, ApiError> {
        let (now, from) = (&mut self.now, buffer.len());
        if now.events == self.limit || now.read == READ_MAX {
            return Ok(false);
        }
        let next = event.offset.saturating_add(1);
        if now.filter.takes(&event) {
            if now.events > 0 {
                buffer.push(b',');
            }
            item(event, self.range.cut, buffer)?;
            let bytes = now.bytes.saturating_add(buffer.len() - from);
            if now.events > 0 && bytes > PAGE_MAX {
                buffer.truncate(from);
                return Ok(false);
            }
            (now.events, now.bytes) = (now.events + 1, bytes);
        }
        (now.next, now.read) = (next, now.read + 1);
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
    fn cancel(&self) -> Cancel {
        self.range.lineage.cancel().clone()
    }

    fn again(&mut self) -> bool {
        self.now = self.before.clone();
        true
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        self.before = self.now.clone();
        if self.now.ended {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        if !self.now.begun {
            self.now.begun = true;
            buffer.extend_from_slice(b"{\"items\":[");
        }
        let end = self.now.read.saturating_add(PIECE);
        for event in self.range.lineage.read(self.now.next..self.range.to)? {
            let event = event?;
            let at = event.offset;
            if !self.take(event, &mut buffer)? {
                self.end(Some(at), &mut buffer)?;
                return Ok(Some(buffer));
            }
            if buffer.len() >= BUFFER || self.now.read == end {
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
    to: u64,
    cut: Option<usize>,
    /// The current position, and the start of the last buffer.
    now: Place,
    before: Place,
}

/// A position in JSON lines.
#[derive(Debug, Clone)]
struct Place {
    next: u64,
    /// The largest number of further lines.
    left: u64,
    filter: EventFilter,
}

impl Source for Lines {
    fn cancel(&self) -> Cancel {
        self.lineage.cancel().clone()
    }

    fn again(&mut self) -> bool {
        self.now = self.before.clone();
        true
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut buffer = Vec::new();
        self.before = self.now.clone();
        let now = &mut self.now;
        if now.next >= self.to || now.left == 0 {
            return Ok(None);
        }
        let end = now.next.saturating_add(PIECE as u64);
        for event in self.lineage.read(now.next..self.to)? {
            let event = event?;
            now.next = event.offset.saturating_add(1);
            if now.filter.takes(&event) {
                line(event, self.cut, &mut buffer)?;
                now.left -= 1;
            }
            if buffer.len() >= BUFFER || now.left == 0 || now.next >= end {
                return Ok(Some(buffer));
            }
        }
        match now.next >= self.to {
            true => Ok(Some(buffer)),
            // The answer must not look complete if it is too short.
            false => Err(ApiError::Bug),
        }
    }
}

/// Appends an event as an item of a list, with long texts cut.
fn item(event: Event, cut: Option<usize>, out: &mut Vec<u8>) -> Result<(), ApiError> {
    let (form, out) = (forms::event(event), Buffer::new(out));
    let written = match cut {
        Some(most) => serde_json::to_writer(out, &cut_event(&form, most)?),
        None => serde_json::to_writer(out, &form),
    };
    written.map_err(|_| ApiError::Bug)
}

/// Appends an event as a line.
fn line(event: Event, cut: Option<usize>, out: &mut Vec<u8>) -> Result<(), ApiError> {
    let from = out.len();
    item(event, cut, out)?;
    out.get_mut(from..).map(one_line);
    out.push(b'\n');
    Ok(())
}
