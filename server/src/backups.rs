//! Backups before a cleanup, made by a function of the embedder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use milepost::Engine;
use milepost::retention::RetentionPlan;

use crate::error::ApiError;

/// A function that exports the tasks of a plan, and returns the path of the file in the store's
/// folder.
type Make = dyn Fn(&Engine, &RetentionPlan) -> Result<Option<PathBuf>, String> + Send + Sync;

/// The backups of a service. Empty, it refuses requests for one.
#[derive(Clone, Default)]
pub(crate) struct Backups(Option<Arc<Make>>);

impl Backups {
    pub(crate) fn by<E: fmt::Display, F>(make: F) -> Self
    where
        F: Fn(&Engine, &RetentionPlan) -> Result<Option<PathBuf>, E> + Send + Sync + 'static,
    {
        Self(Some(Arc::new(move |engine, plan| make(engine, plan).map_err(|e| e.to_string()))))
    }

    /// Makes a backup, and returns its path. Returns `None` if the plan removes nothing.
    pub(crate) fn make(
        &self,
        engine: &Engine,
        plan: &RetentionPlan,
    ) -> Result<Option<String>, ApiError> {
        let Some(make) = &self.0 else {
            let text = "this service makes no backups: clean up without `backup`";
            return Err(ApiError::Invalid(text.to_owned()));
        };
        let made = make(engine, plan).map_err(|error| {
            let text = format!("nothing was removed, since the backup failed: {error}");
            milepost::Error::new(milepost::ErrorKind::Unavailable, text)
        })?;
        Ok(made.map(|file| file.display().to_string()))
    }
}

impl fmt::Debug for Backups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backups").field(&self.0.is_some()).finish()
    }
}
