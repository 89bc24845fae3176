//! Lineages as a person reads them.

use serde::{Deserialize, Serialize};

use crate::call::call;
use crate::{
    AlignmentForm, Big, HitsForm, Listed, MetricsForm, OverviewForm, RowsForm, SeriesForm,
    TurnsForm,
};

/// A page of rows. Default: the first 100 of the active lineage.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct RowsQuery {
    /// The lineage. Default: the active one.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
    /// The first offset. Default: the first readable one.
    pub from: Option<Big>,
    /// The end offset, exclusive. Default: the head.
    pub to: Option<Big>,
    /// The maximum number of rows: 1 to 5,000, default 100.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 5000))]
    pub limit: Option<usize>,
    /// Only events of these kinds, separated by commas: `message,step_finished`. Default: all.
    pub kind: Option<String>,
    /// Only events with this text in their JSON. Case does not count.
    pub text: Option<String>,
    /// Only calls and steps that failed.
    #[serde(default)]
    pub failed: bool,
}

/// A page of turns. Default: the first 100 of the active lineage.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TurnsQuery {
    /// The lineage. Default: the active one.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
    /// The number of the first turn. Default: 0.
    pub from: Option<Big>,
    /// An offset: the page is around the turn that has it. Not with `from`.
    pub near: Option<Big>,
    /// The maximum number of turns: 1 to 1,000, default 100.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Only turns with this text in the JSON of an event. Case does not count.
    pub text: Option<String>,
    /// Only turns that failed.
    #[serde(default)]
    pub failed: bool,
}

/// Buckets of an overview.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct OverviewQuery {
    /// The lineage. Default: the active one.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
    /// The maximum number of buckets: 1 to 2,000, default 200.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 2000))]
    pub buckets: Option<usize>,
}

/// The lineage of metrics.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct MetricsQuery {
    /// The lineage. Default: the active one.
    #[cfg_attr(feature = "schema", param(value_type = Option<u64>, maximum = 4_294_967_295_u64))]
    pub lineage: Option<u32>,
}

/// A metric of several histories.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(try_from = "Pairs", into = "Pairs")]
pub struct SeriesQuery {
    /// 1 to 50 addresses, each as one parameter `at`
    pub at: Vec<String>,
    /// The name of the metric
    pub metric: String,
    /// The axis: `step` (the default), `time`, `offset`
    pub x: Option<String>,
    /// The maximum number of buckets for each address, default 500
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 2000))]
    pub points: Option<usize>,
}

/// The parameters of a query, in order. One may be there several times.
type Pairs = Vec<(String, String)>;

impl TryFrom<Pairs> for SeriesQuery {
    type Error = String;

    fn try_from(pairs: Pairs) -> Result<Self, String> {
        let (mut query, mut metric) = (Self::default(), None);
        for (name, value) in pairs {
            match name.as_str() {
                "at" => query.at.push(value),
                "metric" => metric = Some(value),
                "x" => query.x = Some(value),
                "points" => {
                    let points = value.parse().map_err(|_| format!("points: not {value:?}"))?;
                    query.points = Some(points);
                }
                _ => {
                    return Err(format!(
                        "a series has no parameter {name:?}: it has `at`, `metric`, `x`, `points`"
                    ));
                }
            }
        }
        let metric = metric.ok_or("a series has a `metric`")?;
        Ok(Self { metric, ..query })
    }
}

impl From<SeriesQuery> for Pairs {
    fn from(SeriesQuery { at, metric, x, points }: SeriesQuery) -> Self {
        let at = at.into_iter().map(|address| ("at", address));
        let rest = [
            ("metric", Some(metric)),
            ("x", x),
            ("points", points.map(|points| points.to_string())),
        ];
        let rest = rest.into_iter().filter_map(|(name, value)| Some((name, value?)));
        at.chain(rest).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// A page of an alignment.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AlignQuery {
    /// The first line. Default: 0.
    pub from: Option<Big>,
    /// The maximum number of lines: 1 to 1,000, default 100.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// Compare what was said also in turns with calls.
    #[serde(default)]
    pub texts: bool,
}

/// A search in all tasks.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// A text in the JSON of the event. Case does not count.
    pub text: Option<String>,
    /// Only events of these kinds, separated by commas: `message,step_finished`. Default: all.
    pub kind: Option<String>,
    /// Only calls and steps that failed.
    #[serde(default)]
    pub failed: bool,
    /// The owner of the tasks, for admins. Default: all that the caller may see.
    pub user: Option<String>,
    /// The maximum number of hits: 1 to 1,000, default 100.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

call! {
    /// Returns events of a lineage, including those before its fork, on one line each. With `kind`,
    /// `text` or `failed` a page may have few rows, or none, and still a `next`.
    Rows {
        /// The task's id
        task,
        query: RowsQuery,
    }
    "rows" of "readings": long get "/v1/tasks/{task}/rows" -> (RowsForm);
        tag "Of a complete answer"
}

call! {
    /// Returns turns of a lineage, including those before its fork. With `text` or `failed` a page
    /// may have few turns, or none, and still a `next`. While `read` is less than `head`, the same
    /// request reads on.
    Turns {
        /// The task's id
        task,
        query: TurnsQuery,
    }
    "turns" of "readings": long get "/v1/tasks/{task}/turns" -> (TurnsForm);
        tag "Of a complete answer"
}

call! {
    /// Returns counts of a lineage, including the events before its fork, in buckets of equal
    /// width. While `read` is less than `head`, the same request reads on.
    Overview {
        /// The task's id
        task,
        query: OverviewQuery,
    }
    "overview" of "readings": long get "/v1/tasks/{task}/overview" -> (OverviewForm);
        tag "Of a complete answer"
}

call! {
    /// Returns the metrics of a lineage: names, counts, and the last, least and greatest values.
    /// While `read` is less than `head`, the same request reads on.
    TaskMetrics {
        /// The task's id
        task,
        query: MetricsQuery,
    }
    "task_metrics" of "readings": long get "/v1/tasks/{task}/metrics" -> (MetricsForm);
        tag "Of a complete answer"
}

call! {
    /// Aligns the turns of the histories before two points.
    Align {
        /// An address, as one segment: `essay%2F3@12`
        address,
        /// Another address, of any task
        other,
        query: AlignQuery,
    }
    "align" of "readings": long get "/v1/points/{address}/align/{other}" -> (AlignmentForm);
        tag "By the hashes of both"
}

call! {
    /// Searches the events of all tasks, the newest task first. A page may have few hits, or none,
    /// and still a `next`: the search stopped to answer.
    Search {
        query: SearchQuery,
    }
    "search" of "readings": long_list get "/v1/search" -> (HitsForm)
}

call! {
    /// Returns the values of a metric before some points, in buckets of consecutive values. While
    /// `read` of an item is less than its `head`, the same request reads on.
    Series {
        query: SeriesQuery,
    }
    "series" of "readings": long get "/v1/series" -> (Listed<SeriesForm>);
        tag "Of a complete answer"
}
