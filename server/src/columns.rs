//! Columns of summaries: values of the last states of tasks, read within the limits of states.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use milepost::Engine;
use milepost::query::TaskVersion;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::states;
use milepost_service::{Columns, VALUE_MAX};

/// Returns values of the last state of a task, by pointer. One that is not there, or cannot be
/// read, is absent.
pub(crate) async fn of(
    app: &App,
    caller: &Caller,
    task: &TaskVersion,
    pointers: &[String],
) -> Result<BTreeMap<String, Value>, ApiError> {
    let mut columns = app.summaries.columns(task, pointers);
    let others = pointers.iter().filter(|pointer| !columns.contains_key(*pointer));
    let others: Vec<String> = others.cloned().collect();
    if !others.is_empty() {
        let read = match read(app, caller, task, others.clone()).await {
            Err(wrong) if wrong.status() == StatusCode::SERVICE_UNAVAILABLE => return Err(wrong),
            Ok(read) => read,
            Err(_) => others.into_iter().map(|pointer| (pointer, None)).collect(),
        };
        app.summaries.keep_columns(task, &read);
        columns.extend(read);
    }
    Ok(columns.into_iter().filter_map(|(pointer, value)| Some((pointer, value?))).collect())
}

/// Reads values of the last state.
async fn read(
    app: &App,
    caller: &Caller,
    task: &TaskVersion,
    pointers: Vec<String>,
) -> Result<Columns, ApiError> {
    let (id, no) = (task.id.clone(), task.no);
    let point = app.view(caller, move |view| {
        let task = view.task(&id)?;
        // The id of a deleted task is free, and may be another user's by now.
        if task.no() != no {
            return Err(ApiError::NotFound(format!("the task {id} was deleted")));
        }
        Ok(task.point(task.head()?.next)?)
    });
    let state = states::at(app, caller, point.await?).await?;
    let work = move |engine: &Engine| {
        let chunks = engine.chunks();
        let value = |pointer: String| {
            let value = state.value_at(&pointer, chunks.as_ref()).ok().flatten().map(cut);
            (pointer, value)
        };
        Ok(pointers.into_iter().map(value).collect())
    };
    app.long_work(caller.of_token(), work).await
}

/// Returns a value, or the beginning of a long one and its length.
fn cut(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.len() > VALUE_MAX {
        true => {
            let end = (0..=VALUE_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (begin, _) = text.split_at(end);
            json!({ "cut": begin, "bytes": text.len() })
        }
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use milepost::Options;
    use milepost::clock::SystemClock;
    use milepost::events::PhaseChanged;

    use super::*;
    use crate::options::ServerOptions;
    use crate::tokens::Tokens;

    #[tokio::test]
    async fn a_task_that_was_deleted_shows_nothing_of_one_with_its_id() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let (tokens, options) = (Tokens::none(), ServerOptions::default());
        let app = App::new(engine.clone(), tokens, options, Box::new(SystemClock)).unwrap();
        let start = |user: &str| {
            let task = engine.start_task("x", user).unwrap();
            let phase = PhaseChanged { previous: None, phase: user.into(), iteration: 0 };
            task.append(phase).unwrap();
            app.summaries.versions(&engine).unwrap().first().unwrap().clone()
        };
        let (caller, pointers) = (Caller::local(), ["/phase".to_owned()]);
        let of_ana = start("ana");
        let read = of(&app, &caller, &of_ana, &pointers).await.unwrap();
        assert_eq!(read["/phase"], "ana");
        engine.retention().delete_task("x").unwrap();
        let of_bob = start("bob");
        assert!(of(&app, &caller, &of_ana, &pointers).await.unwrap().is_empty());
        assert_eq!(of(&app, &caller, &of_bob, &pointers).await.unwrap()["/phase"], "bob");
    }
}
