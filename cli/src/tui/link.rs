//! The link to what is shown: the address of the same screen on the page of a service.

use super::app::{App, Place};
use super::task::{TABS, TaskView};
use super::tasks::TaskSort;
use crate::output::words::fragment;

/// The reason why there is no link.
pub const NONE: &str = "a store on this disk has no link: `milepost ui` gives it one";

impl App {
    /// Returns the link to what is shown. `None`: no service has the store.
    pub fn link(&self) -> Option<String> {
        let url = self.url.as_deref()?.trim_end_matches('/');
        let (path, fields) = match self.place() {
            Place::Tasks => ("/tasks".to_owned(), self.fields_of_tasks()),
            Place::Task => {
                let view = self.task.as_ref()?;
                (format!("/task/{}", fragment(&view.address())), fields_of_task(view))
            }
            Place::Compare => {
                let [a, b] = self.compare.as_ref()?.addresses.clone();
                ("/compare".to_owned(), vec![("a", a), ("b", b)])
            }
            Place::Metrics => {
                let view = self.metrics.as_ref()?;
                let at = view.at.iter().map(|at| ("at", at.clone()));
                let metric = view.chosen().map(|name| ("metric", name.to_owned()));
                ("/metrics".to_owned(), at.chain(metric).collect())
            }
        };
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", fragment(value))).collect();
        let query = if fields.is_empty() { "" } else { "?" };
        Some(format!("{url}/#{path}{query}{}", fields.join("&")))
    }

    fn fields_of_tasks(&self) -> Vec<(&'static str, String)> {
        let words = &self.tasks.words;
        let words = (!words.is_empty()).then(|| ("q", words.clone()));
        let sort = match self.tasks.sort {
            TaskSort::Newest => None,
            TaskSort::Changed => Some("-changed"),
            TaskSort::Failed => Some("-failed"),
            TaskSort::Steps => Some("-steps"),
            TaskSort::Tokens => Some("-tokens"),
        };
        words.into_iter().chain(sort.map(|sort| ("sort", sort.to_owned()))).collect()
    }
}

fn fields_of_task(view: &TaskView) -> Vec<(&'static str, String)> {
    let tab = TABS.iter().skip(1).find(|(tab, _)| *tab == view.tab);
    let tab = tab.map(|(_, name)| ("tab", name.to_lowercase()));
    let events = view.is_events.then(|| ("view", "events".to_owned()));
    tab.into_iter().chain(events).collect()
}

#[cfg(test)]
mod tests {
    use super::super::compare::CompareView;
    use super::super::keys::Stroke;
    use super::super::metrics::MetricsView;
    use super::super::testing::{turns, view};
    use super::*;

    fn app() -> App {
        let mut app = App::new();
        app.url = Some("http://127.0.0.1:7733/".into());
        let mut view = view("a b", 30);
        view.take_turns(0, turns(0, 10, 10));
        app.open(view);
        app
    }

    fn copied(app: &mut App) -> String {
        app.press(Stroke::Char('Y'));
        app.copied.take().unwrap()
    }

    #[test]
    fn a_link_leads_to_the_screen_that_is_shown() {
        let mut app = app();
        assert_eq!(copied(&mut app), "http://127.0.0.1:7733/#/task/a%2520b/0@0");
        app.press(Stroke::Char('v'));
        app.press(Stroke::Char('3'));
        let task = "http://127.0.0.1:7733/#/task/a%2520b/0@0?tab=changes&view=events";
        assert_eq!(copied(&mut app), task);
        app.compare = Some(CompareView::new(["a%20b/0@9".into(), "x/1@2".into()]));
        app.show(Place::Compare);
        let compare = "http://127.0.0.1:7733/#/compare?a=a%2520b/0@9&b=x/1@2";
        assert_eq!(copied(&mut app), compare);
        app.metrics =
            Some(MetricsView::new("x".into(), milepost::LineageId(1), vec!["x/1@2".into()]));
        app.show(Place::Metrics);
        assert_eq!(copied(&mut app), "http://127.0.0.1:7733/#/metrics?at=x/1@2");
        app.show(Place::Tasks);
        assert_eq!(copied(&mut app), "http://127.0.0.1:7733/#/tasks");
        app.press(Stroke::Char('3'));
        app.tasks.set_words("a has:failure");
        let tasks = "http://127.0.0.1:7733/#/tasks?q=a%20has:failure&sort=-failed";
        assert_eq!(copied(&mut app), tasks);
    }

    #[test]
    fn a_store_on_this_disk_has_no_link_and_the_view_says_what_gives_it_one() {
        let mut app = app();
        app.url = None;
        app.press(Stroke::Char('Y'));
        assert_eq!(app.copied, None);
        assert!(app.notice.unwrap().1.contains("`milepost ui`"));
    }
}
