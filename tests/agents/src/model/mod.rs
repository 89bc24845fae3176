//! The scripted model: the service, and the requests that it got.

mod anthropic;
mod gemini;
mod openai;
mod script;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use script::{Act, Item, Step};
use tools::Tools;

/// Largest request that is read, in bytes.
const BODY_MAX: usize = 256 << 20;

/// A request that the model got. Headers are not kept: they have keys in them.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The path, without the query.
    pub path: String,
    /// The document, or null for other text.
    pub body: Value,
    /// True if tools are offered. Requests for titles and the like have none.
    pub has_tools: bool,
}

impl ModelRequest {
    /// Returns `true` if a text is anywhere in the request.
    pub fn says(&self, text: &str) -> bool {
        self.body.to_string().contains(text)
    }
}

/// A model on the loopback interface. Dropping it ends the service.
#[derive(Debug)]
pub struct Model {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

/// The part of the model that requests are answered with.
#[derive(Debug)]
struct Shared {
    /// The folder that paths of directives are relative to.
    folder: PathBuf,
    requests: Mutex<Vec<ModelRequest>>,
}

/// An answer: one document, or a stream of them with their names.
enum Answer {
    Document(Value),
    Stream(Vec<(&'static str, Value)>),
}

impl Model {
    /// Starts a model for a project.
    pub fn start(folder: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { folder: folder.to_owned(), requests: Mutex::default() });
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
        Self { address, shared, runtime: Some(runtime) }
    }

    /// Returns the address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns the number of requests so far.
    pub fn request_count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    if parts.method != Method::POST {
        let models = json!({"object": "list", "data": [], "models": []});
        return respond(path.contains("models").then_some(Answer::Document(models)));
    }
    let Ok(bytes) = to_bytes(body, BODY_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let is_packed = parts.headers.get(header::CONTENT_ENCODING).is_some_and(|it| it == "zstd");
    let bytes = match is_packed {
        true => zstd::decode_all(bytes.as_ref()).unwrap_or_default(),
        false => bytes.to_vec(),
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let answer = shared.answer(&path, &body);
    shared.requests.lock().unwrap().push(ModelRequest { path, body, has_tools });
    respond(answer)
}

fn respond(answer: Option<Answer>) -> Response {
    match answer {
        Some(Answer::Document(document)) => axum::Json(document).into_response(),
        Some(Answer::Stream(events)) => {
            let line = |(name, data): (&str, Value)| match name {
                "" => format!("data: {data}\n\n"),
                name => format!("event: {name}\ndata: {data}\n\n"),
            };
            let text: String = events.into_iter().map(line).collect();
            ([(header::CONTENT_TYPE, "text/event-stream")], Body::from(text)).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Shared {
    /// Answers a request by its path. `None` for a path that no service has.
    fn answer(&self, path: &str, body: &Value) -> Option<Answer> {
        let end = path.rsplit(['/', ':']).next()?;
        Some(match end {
            "messages" => anthropic::answer(self, body),
            "count_tokens" => Answer::Document(json!({"input_tokens": 1000})),
            "responses" => openai::responses(self, body),
            "completions" => openai::completions(self, body),
            "generateContent" => gemini::answer(self, body, false),
            "streamGenerateContent" => gemini::answer(self, body, true),
            "countTokens" => Answer::Document(json!({"totalTokens": 1000})),
            _ => return None,
        })
    }

    /// Returns the next text and calls. A request without tools gets a text only.
    fn next(&self, items: &[Item], tools: &Tools) -> (Option<String>, Vec<ToolCall>) {
        let Step { text, act } = match tools.is_empty() {
            true => Step { text: Some("A title".to_owned()), act: None },
            false => script::next(items),
        };
        let inputs = act.map(|act| tools.calls(&act, &self.folder)).unwrap_or_default();
        let call = |(name, input)| ToolCall { id: id(), name, input };
        (text, inputs.into_iter().map(call).collect())
    }
}

/// A call of a tool.
struct ToolCall {
    id: String,
    name: String,
    /// A text for a tool without a schema.
    input: Value,
}

/// Returns an id that no other has: sessions outlive the model that began them.
fn id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}{n:08x}", std::process::id())
}

/// The texts of a content, which is a text or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The members of a list, or none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
