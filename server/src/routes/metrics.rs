//! `/metrics`: metrics of the engine and the service, in the text format of Prometheus
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4).

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use milepost::metrics::{Histogram, Metrics, Stats};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::forms::Problem;
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
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "They are for \
            admins", body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    caller.is_admin("metrics of the store are for admins")?;
    let meters = app.meters().now();
    let streams = app.streams() as u64;
    let held = (app.budgets().all()).map(|(of, budget)| (of, budget.held()));
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
        let counters = [
            ("appends", "Appends that were committed.", of.appends),
            (
                "repeated_appends",
                "Appends that were there already, under the same key.",
                of.repeated,
            ),
            ("append_errors", "Appends that were refused or failed.", of.append_errors),
            ("events", "Events that were committed.", of.events),
            ("checkpoints", "Checkpoints that were marked.", of.checkpoints),
            ("restores", "Restores.", of.restores),
            ("commits", "Commits.", of.commits),
            ("journal_syncs", "Syncs of the journal.", of.journal_syncs),
            ("journal_bytes", "Bytes that commits wrote to the journal.", of.journal_bytes),
            ("segments", "Segments of the journal that were begun.", of.segments),
            (
                "segments_recycled",
                "Those of them in the file of an archived one.",
                of.segments_recycled,
            ),
            ("chunks", "Chunks that were stored.", of.chunks),
            ("chunk_bytes", "Their bytes in the packs.", of.chunk_bytes),
            ("pack_syncs", "Syncs of packs.", of.pack_syncs),
            ("snapshots", "Snapshots that were made.", of.snapshots),
            ("archive_files", "Segments that were archived.", of.archive_files),
            ("archive_bytes", "Bytes of those files.", of.archive_bytes),
            ("captures", "Captures of workspaces.", of.captures),
            ("capture_files", "Files that they looked at.", of.capture_files),
            ("capture_files_read", "Those of them that had to be read.", of.capture_files_read),
            (
                "kept_state_hits",
                "States of checkpoints that were asked for and were kept.",
                of.kept.hits,
            ),
            ("kept_state_misses", "Those that had to be folded.", of.kept.misses),
            ("kept_state_evictions", "Cached states that were evicted.", of.kept.evictions),
        ];
        for (name, what, value) in counters {
            self.one(&format!("milepost_{name}_total"), "counter", what, value);
        }
        let gauges = [
            ("applier_lag_commits", "Commits that wait for the applier.", of.lag_commits),
            ("applier_lag_bytes", "Bytes that they hold in memory.", of.lag_bytes),
            ("kept_states", "States of checkpoints that are kept.", of.kept.states),
            ("kept_state_bytes", "Their bytes, as they are encoded.", of.kept.bytes),
            (
                "poisoned",
                "1 where a write failed: the store has to be opened again.",
                u64::from(of.poisoned),
            ),
        ];
        for (name, what, value) in gauges {
            self.one(&format!("milepost_{name}"), "gauge", what, value);
        }
        self.summary(
            "milepost_commit_appends",
            "Appends of each commit.",
            &of.appends_per_commit,
            1.0,
        );
        self.summary(
            "milepost_commit_events",
            "Events of each commit.",
            &of.events_per_commit,
            1.0,
        );
        let spans = [
            ("append", "An append as its caller sees it.", &of.append_us),
            ("commit", "Writing a commit to the journal and syncing it.", &of.commit_us),
            ("apply", "A round of the applier.", &of.apply_us),
            ("archive", "Archiving a segment.", &of.archive_us),
            ("fold", "Folding a state that was asked for.", &of.fold_us),
            ("capture", "A capture of a workspace.", &of.capture_us),
        ];
        for (name, what, of) in spans {
            self.summary(&format!("milepost_{name}_seconds"), what, of, 1e6);
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
