//! `/metrics`: metrics of the engine and the service, in the text format of Prometheus
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4).

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::metrics::{Histogram, Metric, Metrics, Stats, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::meters::{BUCKETS, Counts};

/// The quantiles of summaries.
const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Returns the metrics of the engine and the service, in the text format of Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "service",
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = 401),
        (status = 403, description = "They are for admins"),
        (status = 503),
    ),
)]
async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    caller.is_admin("metrics of the store are for admins")?;
    let meters = app.meters.now();
    let streams = app.streams() as u64;
    let held = (app.budgets.all()).map(|(of, budget)| (of, budget.held()));
    let text = app.work(move |engine| {
        let mut text = Text::default();
        text.engine(&engine.store().metrics());
        text.store(&engine.store().stats()?);
        text.service(&meters);
        text.one("milepost_http_streams", "gauge", "Event streams that are open.", streams);
        let name = "milepost_http_held_bytes";
        text.head(name, "gauge", "Bytes that requests hold of each budget.");
        for (of, bytes) in held {
            text.line(format_args!("{name}{{of=\"{of}\"}} {bytes}"));
        }
        Ok(text.0)
    });
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text.await?).into_response())
}

#[derive(Default)]
struct Text(String);

impl Text {
    /// Writes a line. Writing to a string cannot fail.
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn head(&mut self, name: &str, kind: &str, what: &str) {
        self.line(format_args!("# HELP {name} {what}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn one(&mut self, name: &str, kind: &str, what: &str, value: u64) {
        self.head(name, kind, what);
        self.line(format_args!("{name} {value}"));
    }

    /// Writes a histogram of the engine as a summary. Values are divided by `divisor`.
    fn summary(&mut self, name: &str, what: &str, of: &Histogram, divisor: f64) {
        self.head(name, "summary", what);
        for share in SHARES {
            if let Some(value) = of.quantile(share) {
                let value = value as f64 / divisor;
                self.line(format_args!("{name}{{quantile=\"{share}\"}} {value}"));
            }
        }
        self.line(format_args!("{name}_sum {}", of.sum() as f64 / divisor));
        self.line(format_args!("{name}_count {}", of.count()));
    }

    fn engine(&mut self, of: &Metrics) {
        for Metric { name, help, value, .. } in of.all() {
            match value {
                Value::Counter(value) => self.one(name, "counter", help, value),
                Value::Gauge(value) => self.one(name, "gauge", help, value),
                Value::Distribution(of, divisor) => self.summary(name, help, of, divisor),
            }
        }
    }

    fn store(&mut self, of: &Stats) {
        let gauges = [
            ("store_tasks", "Tasks in the store.", of.tasks),
            ("store_lineages", "Their lineages.", of.lineages),
            ("store_events", "Their events.", of.events),
            ("store_checkpoints", "Their checkpoints.", of.checkpoints),
        ];
        for (name, what, value) in gauges {
            self.one(&format!("milepost_{name}"), "gauge", what, value);
        }
        let name = "milepost_disk_bytes";
        self.head(name, "gauge", "What each part of the store takes on disk.");
        let disk = of.disk;
        let parts = [
            ("journal", disk.journal),
            ("archive", disk.archive),
            ("sled", disk.sled),
            ("packs", disk.packs),
        ];
        for (part, bytes) in parts {
            self.line(format_args!("{name}{{part=\"{part}\"}} {bytes}"));
        }
    }

    fn service(&mut self, of: &Counts) {
        let name = "milepost_http_requests_total";
        self.head(name, "counter", "Requests that were answered.");
        for ((route, status), count) in &of.requests {
            let labels = format_args!("route=\"{route}\",status=\"{status}\"");
            self.line(format_args!("{name}{{{labels}}} {count}"));
        }
        let name = "milepost_http_request_seconds";
        self.head(name, "histogram", "How long an answer took to begin.");
        for (route, took) in &of.took {
            let mut all = 0;
            for (end, count) in BUCKETS.iter().zip(took.buckets) {
                all += count;
                let labels = format_args!("route=\"{route}\",le=\"{end}\"");
                self.line(format_args!("{name}_bucket{{{labels}}} {all}"));
            }
            let labels = format_args!("route=\"{route}\",le=\"+Inf\"");
            self.line(format_args!("{name}_bucket{{{labels}}} {}", took.count));
            self.line(format_args!("{name}_sum{{route=\"{route}\"}} {}", took.seconds));
            self.line(format_args!("{name}_count{{route=\"{route}\"}} {}", took.count));
        }
    }
}
