//! Numbers of the store.

// tidy: one operation

use serde::{Deserialize, Serialize};

use crate::StatsForm;
use crate::call::call;

/// The numbers of a user's tasks, or those of the store.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct StatsQuery {
    /// The user. An admin without one gets the store's numbers.
    pub user: Option<String>,
    /// The page size in tasks: 1 to 1,000, default 1,000.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
    /// The `next` of the previous page.
    pub cursor: Option<String>,
}

call! {
    /// Returns the numbers of the caller's tasks, or of the store.
    Stats {
        query: StatsQuery,
    }
    "stats" of "store": long_list get "/v1/stats" -> (StatsForm)
}
