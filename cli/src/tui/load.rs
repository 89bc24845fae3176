//! Requests to the store, made while no key waits.

use milepost_api::Big;
use milepost_api::calls::{
    Align, AlignQuery, Bisect, BisectQuery, MetricsQuery, Overview, OverviewQuery, Rows, RowsQuery,
    Series, SeriesQuery, Summary, TaskMetrics, Turns, TurnsQuery,
};

use super::actions;
use super::app::{App, Place, Request};
use super::document;
use super::metrics::POINTS;
use super::plan::{Deed, PlanError};
use super::prompt::{Prompt, PromptFor};
use super::task::{BUCKETS, Hunt, HuntFor, TaskView};
use crate::backend::Backend;
use crate::error::{Failure, Result};
use crate::output::{count, printable, words};
use crate::terminal::Tone;

/// Tasks of a page.
const TASKS: usize = 100;

/// A store, and what is kept of its lineages.
pub struct Reading<'a> {
    pub source: &'a dyn Backend,
}

impl Reading<'_> {
    /// Makes a request. One that fails is not made again until something changes.
    pub fn run(&self, request: Request, app: &mut App) {
        app.asked.retain(|other| *other != request);
        if let Err(failure) = self.answer(&request, app) {
            app.refuse(request, printable(&failure.to_string()).into_owned());
        }
    }

    fn answer(&self, request: &Request, app: &mut App) -> Result<()> {
        match request {
            Request::Tasks(cursor) => {
                let page = self.source.summaries(None, None, TASKS, cursor.clone())?;
                app.tasks.add(page);
            }
            Request::Open(address) => self.open(address, app)?,
            Request::Go(typed) => self.go(typed, app)?,
            Request::Refresh => self.refresh(app)?,
            Request::Plan(deed) => self.plan(deed, app)?,
            Request::Act => self.act(app)?,
            Request::Align(from, limit) => {
                if let Some(view) = &mut app.compare {
                    let [a, b] = &view.addresses;
                    let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
                    let (from_line, limit) = (Some(Big(*from)), Some(limit));
                    let query = AlignQuery { from: from_line, limit, texts: false };
                    let page = self.source.call(Align::new(a, b, query))?;
                    view.take(*from, page);
                }
            }
            Request::MetricNames => {
                if let Some(view) = &mut app.metrics {
                    let query = MetricsQuery { lineage: Some(view.lineage.0) };
                    view.names = Some(self.source.call(TaskMetrics::new(&view.task, query))?);
                }
            }
            Request::Series(name) => {
                if let Some(view) = &mut app.metrics {
                    let query = SeriesQuery {
                        at: view.at.to_vec(),
                        metric: name.clone(),
                        points: Some(POINTS),
                        x: None,
                    };
                    let series = self.source.call(Series::new(query))?.items;
                    view.series.put(name.clone(), series);
                }
            }
            other => self.of_task(other, app)?,
        }
        Ok(())
    }

    /// Makes a request of the open task.
    fn of_task(&self, request: &Request, app: &mut App) -> Result<()> {
        let Some(view) = &mut app.task else { return Ok(()) };
        let (id, lineage) = (view.form.id.clone(), Some(view.lineage.0));
        let limit = |count: u64| Some(usize::try_from(count).unwrap_or(usize::MAX));
        match request {
            Request::Locate => {
                let near = view.placing.map(Big);
                let query = TurnsQuery { lineage, near, limit: Some(1), ..TurnsQuery::default() };
                view.take_place(&self.source.call(Turns::new(&id, query))?);
            }
            Request::Turns(from, count) => {
                let (first, limit) = (Some(Big(*from)), limit(*count));
                let query = TurnsQuery { lineage, from: first, limit, ..TurnsQuery::default() };
                let page = self.source.call(Turns::new(&id, query))?;
                view.take_turns(*from, page);
            }
            Request::Rows(from, count) => {
                let (begin, to) = (Some(Big(*from)), Some(Big(*from + *count)));
                let limit = limit(*count);
                let query = RowsQuery { lineage, from: begin, to, limit, ..RowsQuery::default() };
                let page = self.source.call(Rows::new(&id, query))?;
                view.rows.add(*from, page.items);
            }
            Request::Document(key) => {
                let lines = document::read(self.source, view, *key);
                view.documents.put(*key, lines);
            }
            Request::Hunt => {
                if let Some(said) = self.hunt(view)? {
                    app.say(Tone::Dim, said);
                }
            }
            Request::Summary => view.summary = Some(self.source.call(Summary::new(&id))?),
            Request::Overview(lineage) => {
                let query = OverviewQuery { lineage: Some(lineage.0), buckets: Some(BUCKETS) };
                let overview = self.source.call(Overview::new(&id, query))?;
                view.take_overview(*lineage, overview);
            }
            Request::FirstWhere(condition) => {
                let query = BisectQuery { when: condition.clone(), good: None };
                let found = self.source.call(Bisect::new(view.address_of_head(), query))?;
                view.go(found.event.event.offset.0);
                let step = found.step.map(|step| format!(" in step {step}")).unwrap_or_default();
                let states = count(found.states.0, "state");
                let kind = printable(&found.event.event.kind).into_owned();
                let at = found.event.event.offset;
                let said = match &found.until {
                    None => format!("from @{at} on"),
                    Some(until) => format!("first after @{at}, until after {}", printable(until)),
                };
                app.say(Tone::Title, format!("{said}: {kind}{step}; {states} looked at"));
            }
            Request::Blame(pointer) => {
                let point = self.source.point(&view.address_after())?;
                let blamed = self.source.blame(&point, pointer, false)?;
                let Some(change) = blamed.changes.last() else {
                    return Err(Failure::new(format!("nothing set `{pointer}` before here")));
                };
                view.go(change.offset.0);
                let (at, kind) = (change.offset, printable(&change.kind).into_owned());
                app.say(Tone::Title, format!("set at @{at} by {kind}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens the task of an address, or goes to it in the open one.
    pub fn open(&self, address: &str, app: &mut App) -> Result<()> {
        let point = self.source.point(address)?;
        let form = self.source.task(&words::encode(&point.task))?;
        let lineages = self.source.lineages(&point.task)?;
        match app.task.take() {
            Some(mut view) if view.form.id == form.id => {
                view.refresh(form, lineages);
                view.see(point.lineage, point.offset.0);
                app.open(view);
            }
            _ => app.open(TaskView::new(form, lineages, point.lineage, point.offset.0)),
        }
        Ok(())
    }

    /// Goes to a typed offset of the open lineage, or to an address.
    fn go(&self, typed: &str, app: &mut App) -> Result<()> {
        let number = typed.trim_start_matches('@');
        let view = app.task.as_mut().filter(|_| app.places.last() == Some(&Place::Task));
        match (number.parse::<u64>(), view) {
            (Ok(offset), Some(view)) => {
                view.go(offset);
                Ok(())
            }
            _ => self.open(typed, app),
        }
    }

    /// Makes one part of a search. Returns what to say at its end.
    fn hunt(&self, view: &mut TaskView) -> Result<Option<String>> {
        let Some(hunt) = view.hunt.take() else { return Ok(None) };
        let id = view.form.id.clone();
        match hunt.what {
            HuntFor::Turn => return self.turn(view, hunt.is_forward),
            HuntFor::StepEnd { step, first } => return self.fold_step(view, hunt, (step, first)),
            _ => {}
        }
        let none = || Ok(Some(format!("no more: {}", hunt.what.shown())));
        let Some(query) = hunt.query(view) else { return none() };
        let (found, next) = match hunt.is_forward {
            true => {
                let page = self.source.call(Rows::new(&id, query))?;
                (page.items.first().map(|row| row.offset.0), page.next.map(|next| next.0))
            }
            false => {
                let from = query.from.map(|from| from.0);
                (self.last(&id, query)?, from)
            }
        };
        match (found, next) {
            (Some(offset), _) => {
                view.go(offset);
                view.found = Some(offset);
            }
            (None, Some(at)) => view.hunt = Some(Hunt { at, ..hunt }),
            (None, None) => return none(),
        }
        Ok(None)
    }

    /// Goes to the beginning of the next or the previous turn, while events are shown.
    fn turn(&self, view: &mut TaskView, is_forward: bool) -> Result<Option<String>> {
        let cursor = view.rows.cursor;
        let query = TurnsQuery {
            lineage: Some(view.lineage.0),
            near: Some(Big(cursor)),
            limit: Some(3),
            ..TurnsQuery::default()
        };
        let page = self.source.call(Turns::new(&view.form.id, query))?;
        let mut first = page.items.iter().map(|turn| turn.first.0);
        let found = match is_forward {
            true => first.find(|first| *first > cursor),
            false => first.rfind(|first| *first < cursor),
        };
        match found {
            Some(offset) => view.go(offset),
            None => return Ok(Some("no more turns".into())),
        }
        Ok(None)
    }

    /// Makes one part of the search for the end of a step, and folds the step at the end.
    fn fold_step(
        &self,
        view: &mut TaskView,
        hunt: Hunt,
        (step, first): (Big, u64),
    ) -> Result<Option<String>> {
        let id = view.form.id.clone();
        let page =
            hunt.query(view).map(|query| self.source.call(Rows::new(&id, query))).transpose()?;
        let (rows, next) = page.map_or_else(Default::default, |page| (page.items, page.next));
        let end = match (rows.first(), next) {
            (Some(row), _) if row.kind == "step_started" => row.offset.0.saturating_sub(1),
            (Some(row), _) => row.offset.0,
            (None, Some(next)) => {
                view.hunt = Some(Hunt { at: next.0, ..hunt });
                return Ok(None);
            }
            (None, None) => view.head().saturating_sub(1),
        };
        let (lineage, near) = (Some(view.lineage.0), Some(Big(end)));
        let query = TurnsQuery { lineage, near, limit: Some(1), ..TurnsQuery::default() };
        let page = self.source.call(Turns::new(&id, query))?;
        if page.read.0 <= end && page.read < page.head {
            view.hunt = Some(Hunt { at: end, ..hunt });
            return Ok(None);
        }
        match page.items.iter().rfind(|turn| turn.step == Some(step) && turn.number.0 > first) {
            Some(last) => view.fold_step(step, first, last.number.0),
            None => return Ok(Some(format!("step {step} has one turn only"))),
        }
        Ok(None)
    }

    /// Returns the last event of a part, which may be read in several answers.
    fn last(&self, task: &str, mut query: RowsQuery) -> Result<Option<u64>> {
        let mut last = None;
        loop {
            let page = self.source.call(Rows::new(task, query.clone()))?;
            last = page.items.last().map(|row| row.offset.0).or(last);
            match page.next {
                Some(next) => query.from = Some(next),
                None => return Ok(last),
            }
        }
    }

    /// Makes the plan of an action, or asks for the folder that it is about.
    fn plan(&self, deed: &Deed, app: &mut App) -> Result<()> {
        let Some(view) = &app.task else { return Ok(()) };
        let what = match deed {
            Deed::RollBackFiles(_) => PromptFor::RollBackFolder,
            _ => PromptFor::UndoFolder,
        };
        match actions::plan(self.source, view, deed.clone()) {
            Ok(plan) => app.plan = Some(plan),
            Err(PlanError::NameFolder(known)) => {
                let known = known.map(|known| known.display().to_string());
                app.prompt = Some(Prompt::new(what, &known.unwrap_or_default()));
            }
            Err(PlanError::Failed(failure)) => return Err(failure),
        }
        Ok(())
    }

    /// Does the confirmed action, and shows its effect.
    fn act(&self, app: &mut App) -> Result<()> {
        let (Some(plan), Some(view)) = (app.doing.take(), &mut app.task) else { return Ok(()) };
        let effect = actions::act(self.source, view, &plan)?;
        let id = view.form.id.clone();
        view.refresh(self.source.task(&words::encode(&id))?, self.source.lineages(&id)?);
        view.summary = None;
        if let Some(lineage) = effect.see {
            view.see(lineage, u64::MAX);
        }
        app.refused.clear();
        app.say(Tone::Title, effect.text);
        Ok(())
    }

    /// Looks for what changed.
    fn refresh(&self, app: &mut App) -> Result<()> {
        self.look(app)?;
        app.is_back();
        Ok(())
    }

    fn look(&self, app: &mut App) -> Result<()> {
        match (app.place(), &mut app.task) {
            (Place::Tasks, _) => {
                let page = self.source.summaries(None, None, TASKS, None)?;
                app.tasks.refresh(page);
            }
            (Place::Task, Some(view)) => {
                let form = self.source.task(&words::encode(&view.form.id))?;
                let of = |form: &milepost_api::TaskForm| (form.epoch, form.events, form.lineages);
                let had = (view.form.active, of(&view.form));
                if (form.active, of(&form)) == had {
                    return Ok(());
                }
                let (id, active) = (form.id.clone(), form.active);
                view.refresh(form, self.source.lineages(&id)?);
                view.summary = None;
                app.refused.clear();
                if active != had.0 {
                    let text = format!("the task is on lineage {active} now: `[` `]` go there");
                    app.say(Tone::Changed, text);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
