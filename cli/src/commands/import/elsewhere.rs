//! Imports into a store that another program has open: as a job of that program, or line by line
//! if this process reads what no other one can.

use std::path::Path;

use milepost_api::{ImportForm, ImportPath, ImportRequest, JobRequest, JobResult};
use milepost_formats::Durable;
use milepost_service::jobs::import::{Importer, Names, Place};

use super::ImportJob;
use super::failures::worded;
use super::here::acknowledge;
use super::lines::RemoteLines;
use crate::backend::jobs::on_another_machine;
use crate::backend::jobs::{Listening, absolute};
use crate::backend::{Backend as _, Remote, jobs};
use crate::defaults::current_user;
use crate::error::{Failure, Result};
use crate::output::Out;

/// Imports the inputs.
pub fn import(job: &ImportJob<'_>, there: &Remote, out: &mut Out) -> Result<ImportForm> {
    if job.store.is_in_its_hook() {
        let text = "a hook cannot change the store that it is called for";
        return Err(Failure::new(text).hint("a hook may read it, and change other stores"));
    }
    let is_near = there.has_folders();
    if job.is_read_once() || (job.asked.runs_only && !is_near) {
        return by_lines(job, there, out);
    }
    if !is_near {
        return Err(on_another_machine("an import"));
    }
    let asked = JobRequest::Import(of_this_folder(&job.asked)?);
    match there.job(&asked, ImportJob::bar(out)) {
        Ok(JobResult::Import(form)) => Ok(form),
        Ok(_) => Err(jobs::no_such_result()),
        Err(failed) => Err(worded(failed)),
    }
}

/// Returns `true` for standard input, and for a pipe: only this process can read them.
pub fn is_stream(path: &Path) -> bool {
    let is_special = || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    path.as_os_str() == "-" || is_special()
}

/// Returns the request with absolute paths: the program has another working directory.
fn of_this_folder(asked: &ImportRequest) -> Result<ImportRequest> {
    let path = |given: &ImportPath| {
        let name = given.path.display().to_string();
        Ok(ImportPath { path: absolute(&given.path)?, name: Some(name) })
    };
    let paths = asked.paths.iter().map(path).collect::<Result<_>>()?;
    Ok(ImportRequest { paths, default_user: Some(current_user()), ..asked.clone() })
}

/// Reads the inputs in this process, and appends their events one by one.
fn by_lines(job: &ImportJob<'_>, there: &Remote, out: &mut Out) -> Result<ImportForm> {
    let lines = RemoteLines {
        there,
        owned: there.has_folders() || job.asked.user.is_some(),
        is_acknowledged: job.ack,
    };
    let listening = Listening::new(ImportJob::bar(out));
    let (user, names) = (current_user(), Names::default());
    let importer = Importer::new(&job.asked, &user, &names, &listening);
    let mut tell = |event: Durable| acknowledge(event, out);
    let acknowledge = job.ack.then_some(&mut tell as _);
    let done = importer.and_then(|it| it.run(&mut Place::Lines(&lines), acknowledge));
    done.map_err(|failure| worded(jobs::failed(failure)))
}
