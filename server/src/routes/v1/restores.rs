//! Restores, undos, switches and redos.

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use milepost::state::Changes;
use milepost::{Detail, Engine, ErrorKind, Point, Scope};
use milepost_service::{forms, operations};
use milepost_workspace::Plan;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Caller;
use crate::budget::Shares;
use crate::error::ApiError;
use crate::extract::{OptionalJson, PathName, Required};
use crate::forms::{ChangesForm, RestoreAsked, RestorePlanForm, RestoredForm, UndoFolderAsked};
use crate::states;
use crate::workspace_folder::WorkspaceFolder;
use crate::write_context::{WriteContext, refused};
use milepost_api::WriteProblems;
use milepost_service::View;

/// The maximum number of state changes of a plan.
const CHANGES: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(plan))
        .routes(routes!(restore))
        .routes(routes!(plan_undo))
        .routes(routes!(undo))
}

/// Files to restore. Folders have no owner, so this needs the whole engine.
struct Files<'a> {
    engine: &'a Engine,
    folder: WorkspaceFolder,
}

/// Resolves the point to restore, the scope and the files.
fn resolve<'a>(
    asked: &RestoreAsked,
    view: &'a View<'a>,
) -> Result<(Point, Scope, Option<Files<'a>>), ApiError> {
    let scope = asked.scope.unwrap_or(Scope::State);
    if scope == Scope::State {
        if asked.folder.is_some() || asked.choices.is_some() {
            let text = "`folder` and `choices` are for the scopes `files` and `all`";
            return Err(ApiError::Invalid(text.into()));
        }
        return Ok((view.point(&asked.to)?, scope, None));
    }
    let engine = view.whole("files go back for admins: `state` is for all")?;
    let Some(folder) = &asked.folder else {
        let text = "name the folder whose files go back in `folder`";
        return Err(ApiError::Invalid(text.into()));
    };
    let point = view.point(&asked.to)?;
    let choices = forms::choices(asked.choices.clone().unwrap_or_default());
    let folder = WorkspaceFolder::of(engine, &point, folder, choices)?;
    Ok((point, scope, Some(Files { engine, folder })))
}

/// Returns the effects of a restore to a point on the state, with those on files.
fn planned(
    view: &View<'_>,
    to: Point,
    scope: Scope,
    files: Option<&Plan>,
) -> Result<RestorePlanForm, ApiError> {
    let from = view.present(&to)?;
    let changes = match scope {
        Scope::Files => Changes::default(),
        Scope::State | Scope::All => {
            view.changes(&[view.run_state(&from)?, view.run_state(&to)?], CHANGES)?
        }
    };
    let ChangesForm { items: changes, more } = forms::changes(changes);
    let (task, hashes) = (to.task.clone(), (view.hash_at(&from)?, view.hash_at(&to)?));
    let (from, to) = (forms::place(from, hashes.0), forms::place(to, hashes.1));
    let files = files.map(forms::files_plan).transpose()?;
    Ok(RestorePlanForm { task, scope, from, to, changes, more, files })
}

/// Returns the effects of a restore without changing anything.
#[utoipa::path(
    post,
    path = "/v1/restores/plan",
    operation_id = "plan_restore",
    tag = "restores",
    request_body = RestoreAsked,
    responses(
        (status = 200, body = RestorePlanForm),
        WriteProblems,
        (status = 403, description = "Files are for admins"),
        (status = 500, description = "What is before the point is damaged"),
    ),
)]
async fn plan(
    State(app): State<App>,
    caller: Caller,
    Extension(shares): Extension<Shares>,
    Required(asked): Required<RestoreAsked>,
) -> Result<Json<RestorePlanForm>, ApiError> {
    let to = asked.to.clone();
    let points = app.view(&caller, move |view| {
        let to = view.point(&to)?;
        Ok([view.present(&to)?, to])
    });
    // The plan below reports an invalid address.
    if let Ok(points) = points.await {
        drop(states::two(&app, &shares, &caller, points).await?);
    }
    app.long_view(&caller, move |view| {
        let (point, scope, files) = resolve(&asked, view)?;
        let files = files.map(|files| files.folder.plan(files.engine, &point));
        let files = files.transpose()?;
        Ok(Json(planned(view, point, scope, files.as_ref())?))
    })
    .await
}

/// Restores a task to a point: opens a new lineage there and activates it.
#[utoipa::path(
    post,
    path = "/v1/restores",
    operation_id = "restore",
    tag = "restores",
    params(
        ("If-Match" = Option<String>, Header, description = "The expected head of what the task \
            goes on with, in quotes; of the scope `state`"),
        ("Idempotency-Key" = Option<String>, Header, description = "Gone back once under this key; \
            of the scope `state`"),
    ),
    request_body = RestoreAsked,
    responses(
        (status = 201, body = RestoredForm),
        WriteProblems,
        (status = 403, description = "Files are for admins"),
        (status = 409, description = "Files conflict, or the key was used for something else"),
        (status = 412, description = "The head is elsewhere"),
        (status = 500, description = "What is before the point is damaged"),
        (status = 503, description = "The store cannot answer, or a restore of the task has not \
            ended"),
    ),
)]
async fn restore(
    State(app): State<App>,
    context: WriteContext,
    Required(asked): Required<RestoreAsked>,
) -> Result<(StatusCode, Json<RestoredForm>), ApiError> {
    // Restores with files take no conditions: the plan shows what has been done already.
    let context = match asked.scope {
        None | Some(Scope::State) => context,
        Some(_) => context.unconditional()?,
    };
    let restore = move |view: &View<'_>| {
        let (point, scope, files) = resolve(&asked, view)?;
        let description = asked.description.as_deref();
        let form = match files {
            None => operations::restore(view, &point, description).map_err(refused)?,
            Some(Files { engine, folder }) => {
                let went = folder.restore(engine, &point, scope, description)?;
                forms::with_files(forms::restored(&went.task)?, &went.plan, went.kept)?
            }
        };
        Ok((StatusCode::CREATED, Json(form)))
    };
    app.work(move |engine| restore(&context.caller.view(engine).under(context.conditions()))).await
}

/// Error for callers of an undo with files who are no admins.
const UNDO_FILES: &str = "an undo that takes files back is for admins";

/// Returns the folder of an undo, which has to be one with files.
fn undo_folder<'a>(
    asked: UndoFolderAsked,
    view: &'a View<'a>,
    (target, takes_files): (&Point, bool),
) -> Result<Option<Files<'a>>, ApiError> {
    let UndoFolderAsked { folder, choices } = asked;
    if folder.is_none() && choices.is_none() {
        return Ok(None);
    }
    let engine = view.whole(UNDO_FILES)?;
    if !takes_files {
        let text = "the last restore took no files back: an undo leaves them";
        return Err(ApiError::Invalid(text.into()));
    }
    let Some(folder) = folder else {
        let text = "`choices` are about a folder: name it in `folder`";
        return Err(ApiError::Invalid(text.into()));
    };
    let choices = forms::choices(choices.unwrap_or_default());
    Ok(Some(Files { engine, folder: WorkspaceFolder::of(engine, target, &folder, choices)? }))
}

/// Returns the effects of an undo without changing anything. Without a folder they are those on the
/// state.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/undo/plan",
    operation_id = "plan_undo",
    tag = "restores",
    params(("task" = String, Path, description = "The task's id")),
    request_body = Option<UndoFolderAsked>,
    responses(
        (status = 200, body = RestorePlanForm),
        WriteProblems,
        (status = 403, description = "The last restore took files back, which are for admins"),
        (status = 500, description = "What is before the point is damaged"),
    ),
)]
async fn plan_undo(
    State(app): State<App>,
    caller: Caller,
    Extension(shares): Extension<Shares>,
    PathName(task): PathName,
    OptionalJson(asked): OptionalJson<UndoFolderAsked>,
) -> Result<Json<RestorePlanForm>, ApiError> {
    let id = task.clone();
    let points = app.view(&caller, move |view| {
        let to = view.undo(&id).target()?;
        Ok([view.present(&to)?, to])
    });
    // The plan below reports that there is nothing to undo.
    if let Ok(points) = points.await {
        drop(states::two(&app, &shares, &caller, points).await?);
    }
    app.long_view(&caller, move |view| {
        let undo = view.undo(&task).conditions(view.conditions());
        let (to, takes_files) = (undo.target()?, undo.restores_files()?);
        if takes_files {
            view.whole(UNDO_FILES)?;
        }
        let files = undo_folder(asked, view, (&to, takes_files))?;
        let files = files.map(|files| files.folder.plan_undo(files.engine, &task)).transpose()?;
        let scope = if takes_files { Scope::All } else { Scope::State };
        Ok(Json(planned(view, to, scope, files.as_ref())?))
    })
    .await
}

/// Undoes the last restore or switch of a task: activates the previous lineage.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/undo",
    operation_id = "undo",
    tag = "restores",
    params(
        ("task" = String, Path, description = "The task's id"),
        ("If-Match" = Option<String>, Header, description = "The expected head of what the task \
            goes on with, in quotes"),
        ("Idempotency-Key" = Option<String>, Header, description = "Undone once under this key"),
    ),
    request_body = Option<UndoFolderAsked>,
    responses(
        (status = 200, body = RestoredForm),
        WriteProblems,
        (status = 400, description = "There is no restore to undo"),
        (status = 403, description = "The last restore took files back, which are for admins"),
        (status = 409, description = "The last restore took files back"),
        (status = 412, description = "The head is elsewhere"),
        (status = 503, description = "The store cannot answer, or a restore of the task has not \
            ended"),
    ),
)]
async fn undo(
    State(app): State<App>,
    context: WriteContext,
    PathName(task): PathName,
    OptionalJson(asked): OptionalJson<UndoFolderAsked>,
) -> Result<Json<RestoredForm>, ApiError> {
    // As for restores with files, the plan shows what has been done already.
    let context = match asked.folder.is_some() || asked.choices.is_some() {
        true => context.unconditional()?,
        false => context,
    };
    let undo = move |view: &View<'_>| -> Result<_, ApiError> {
        let undo = view.undo(&task).conditions(view.conditions());
        let takes_files = undo.restores_files()?;
        if asked.folder.is_some() || asked.choices.is_some() {
            let found = undo_folder(asked, view, (&undo.target()?, takes_files))?;
            if let Some(Files { engine, folder }) = found {
                let went = folder.undo(engine, &task)?;
                return Ok(Json(forms::with_files(
                    forms::restored(&went.task)?,
                    &went.plan,
                    went.kept,
                )?));
            }
        }
        let undo = match view.whole(UNDO_FILES) {
            Err(forbidden) if takes_files => return Err(forbidden.into()),
            // Another restore may come first.
            Err(_) => undo.scope(Scope::State),
            Ok(_) => undo,
        };
        let done = undo.run().map_err(|error| {
            // A retry does not help without the location of the files.
            let waits = matches!(error.detail(), Some(Detail::Pending { .. }));
            match error.kind() {
                ErrorKind::Unavailable if takes_files && !waits => {
                    ApiError::conflict(error.to_string())
                }
                _ => refused(error),
            }
        });
        let form = forms::restored(&done?)?;
        Ok(Json(if takes_files { form.with_files() } else { form }))
    };
    app.work(move |engine| undo(&context.caller.view(engine).under(context.conditions()))).await
}
