//! Tests: whole screens of several sizes, as snapshots.

use milepost_api::{AlignOp, Listed, MetricCountForm, MetricsForm};
use milepost_workspace::TreePath;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::terminal::testing::lines;
use crate::tui::app::Request;
use crate::tui::compare::CompareView;
use crate::tui::keys::Stroke;
use crate::tui::metrics::MetricsView;
use crate::tui::plan::{ActionPlan, Deed, PlanChoice};
use crate::tui::task::{CursorRange, HuntFor};
use crate::tui::testing::{
    NOW_US, alignment, overview, row, series, summary, turn, turns, turns_of_steps, view,
};

const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (140, 40), (200, 60)];

/// Turns of the task.
const TURNS: u64 = 250;

/// Turns of a step of the task.
fn each_step(view: &TaskView) -> u64 {
    if view.form.id == "several" { 4 } else { 1 }
}

/// Answers the requests of a view, with made data, and notes them.
fn answer(app: &mut App) -> Vec<Request> {
    let mut made = Vec::new();
    while let Some(request) = app.next_request() {
        assert!(made.len() < 100, "{made:?}");
        app.asked.retain(|other| *other != request);
        of_task(&request, app);
        match &request {
            Request::Tasks(_) => {
                let items = vec![summary("essay", 3, 0), summary("日本語のタスク", 40, 2)];
                app.tasks.add(Listed { items, next: None });
            }
            Request::Open(_) => app.open(view("essay", TURNS * 3)),
            Request::Align(from, _) => {
                use AlignOp::{Changed, Moved, OnlyA, OnlyB, Same};
                let ops = [Same, Same, OnlyA, Same, Changed, Same, OnlyB, Moved];
                app.compare.as_mut().unwrap().take(*from, alignment(&ops));
            }
            Request::MetricNames => {
                let (last, min, max) = (turn(0, 0).metrics["loss"], turn(0, 0).metrics["loss"], 1);
                let name = |name: &str| MetricCountForm {
                    name: name.to_owned(),
                    count: milepost_api::Big(max),
                    last,
                    min,
                    max: last,
                };
                let items = vec![name("accuracy"), name("loss")];
                let (read, head) = (milepost_api::Big(9), milepost_api::Big(9));
                app.metrics.as_mut().unwrap().names = Some(MetricsForm { items, read, head });
            }
            Request::Series(name) => {
                let wave = |at: u32| f64::from(at * at % 97);
                let values: Vec<(f64, f64)> = (0..200).map(|at| (wave(at), wave(at))).collect();
                let all = vec![series("essay/0@9", &values), series("other/0@9", &values[..90])];
                app.metrics.as_mut().unwrap().series.put(name.clone(), all);
            }
            _ => {}
        }
        made.push(request);
    }
    made
}

fn of_task(request: &Request, app: &mut App) {
    let Some(view) = &mut app.task else { return };
    let all = view.head() / 3;
    match request {
        Request::Locate => {
            let at = view.placing.unwrap() / 3;
            view.take_place(&turns(at.min(all - 1), 1, all));
        }
        Request::Turns(from, count) => {
            view.take_turns(*from, turns_of_steps(*from, *count, all, each_step(view)));
        }
        Request::Hunt => {
            let hunt = view.hunt.take().unwrap();
            let HuntFor::StepEnd { step, first } = hunt.what else { panic!("{hunt:?}") };
            view.fold_step(step, first, first + each_step(view) - 1);
        }
        Request::Rows(from, count) => {
            view.rows.add(*from, (*from..*from + *count).map(row).collect())
        }
        Request::Document(key) => {
            let (tab, CursorRange { first, next }) = (key.tab, key.range);
            let title = format!("{tab:?} of Spot {{ first: {first}, next: {next} }}");
            let mut text = vec![Line::new(Tone::Title, title)];
            for at in 0..60 {
                text.push(Line::new(
                    Tone::Plain,
                    format!("{at} 日本語の長い行, a long line of text"),
                ));
            }
            view.documents.put(*key, text);
        }
        Request::Summary => view.summary = Some(summary("essay", 3, 1)),
        Request::Overview(lineage) => {
            view.take_overview(
                *lineage,
                overview(all * 3, if all > TURNS { 8192 } else { 16 }, &[96, 400]),
            );
        }
        _ => {}
    }
}

fn drawn(app: &mut App, (width, height): (u16, u16), color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let looks = Looks { color, now_us: NOW_US };
    // The size decides what is read, and what was read is drawn.
    for _ in 0..3 {
        terminal.draw(|frame| draw(frame, app, looks)).unwrap();
        answer(app);
    }
    terminal.draw(|frame| draw(frame, app, looks)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(app: &mut App, size: (u16, u16)) -> String {
    lines(&drawn(app, size, false)).join("\n").trim_end().to_owned()
}

fn press(app: &mut App, keys: &str) {
    for key in keys.chars() {
        assert!(!app.press(Stroke::Char(key)), "{keys}");
    }
}

/// A view of the task, as after its opening.
fn opened() -> App {
    let mut app = App::new();
    app.open(view("essay", TURNS * 3));
    drawn(&mut app, (80, 24), false);
    app
}

fn compared() -> App {
    let mut app = opened();
    app.compare = Some(CompareView::new(["essay/0@9".into(), "a%20b/1@12".into()]));
    app.show(Place::Compare);
    app
}

fn measured() -> App {
    let mut app = opened();
    let at = vec!["essay/0@9".into(), "other/0@9".into()];
    app.metrics = Some(MetricsView::new("essay".into(), milepost::LineageId(0), at));
    app.show(Place::Metrics);
    app
}

/// Compares a screen of each size with its snapshot.
fn same(name: &str, app: impl Fn() -> App) {
    for (width, height) in SIZES {
        let shown = text(&mut app(), (width, height));
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), shown);
    }
}

#[test]
fn the_tasks_look_as_they_did() {
    same("tasks", App::new);
}

#[test]
fn a_task_looks_as_it_did() {
    same("task", opened);
    same("events", || {
        let mut app = opened();
        press(&mut app, "v4:");
        app.press(Stroke::Esc);
        app
    });
}

#[test]
fn open_turns_and_folded_steps_look_as_they_did() {
    same("open", || {
        let mut app = App::new();
        app.open(view("several", TURNS * 3));
        drawn(&mut app, (80, 24), false);
        press(&mut app, "g");
        answer(&mut app);
        press(&mut app, "JJJJJ");
        app.press(Stroke::Left);
        answer(&mut app);
        press(&mut app, "k");
        app.press(Stroke::Enter);
        press(&mut app, "jj");
        app
    });
}

#[test]
fn a_question_looks_as_it_did_and_its_answers_are_seen_on_every_size() {
    let asked = || {
        let mut app = opened();
        let mut plan = ActionPlan::new(Deed::RollBack, "essay/0@12".into());
        plan.question = "Roll essay back to essay/0@12? 3 changes of the state; it continues on a \
                         new lineage, and lineage 0 stays. `u` takes it back."
            .into();
        plan.has_files = true;
        app.plan = Some(plan);
        app
    };
    same("question", asked);
    for width in 30..150 {
        for height in [3, 6, 10, 24] {
            let shown = text(&mut asked(), (width, height));
            assert!(shown.contains("[No] n"), "{width}x{height}: {shown}");
        }
    }
}

#[test]
fn the_conflicts_of_a_plan_look_as_they_did_and_the_chosen_one_is_seen_on_every_size() {
    let asked = |keys: &str| {
        let mut app = opened();
        let mut plan = ActionPlan::new(Deed::RollBackFiles(None), "essay/0@12".into());
        plan.question = "~ draft.md\n- notes/new.md\nRoll the state and these files of /work back \
                         to essay/0@12? `u` takes it back."
            .into();
        let choice = |at: u32| PlanChoice {
            path: TreePath::new(format!("src/文件{at}.md").as_bytes()).unwrap(),
            text: "changed since it was captured".into(),
            takes: false,
        };
        plan.choices = (0..12).map(choice).collect();
        app.plan = Some(plan);
        press(&mut app, keys);
        app
    };
    same("conflicts", || asked("jxjjjjjjjjj"));
    for (width, height) in [(40, 10), (80, 24), (60, 8), (150, 50)] {
        for (keys, shown) in [("x", "> take  src/文件0.md"), ("G", "> keep  src/文件11.md")] {
            let screen = text(&mut asked(keys), (width, height));
            assert!(screen.contains(shown) && screen.contains("[No] n"), "{height}: {screen}");
        }
    }
}

#[test]
fn a_comparison_and_metrics_look_as_they_did() {
    same("compare", compared);
    same("metrics", measured);
}

#[test]
fn keys_and_actions_look_as_they_did() {
    same("keys", || {
        let mut app = opened();
        press(&mut app, "?");
        app
    });
    same("actions", || {
        let mut app = opened();
        press(&mut app, ".");
        app.press(Stroke::Text("fail".into()));
        app
    });
}

#[test]
fn every_size_is_drawn() {
    let keys = ["", "v", "?", ".", "/", "l"];
    for make in [App::new, opened, compared, measured] {
        for key in keys {
            let mut app = make();
            press(&mut app, key);
            for (width, height) in [(1, 1), (2, 3), (9, 4), (20, 5), (39, 9), (90, 14), (141, 7)] {
                drawn(&mut app, (width, height), true);
            }
        }
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_the_chosen_row_is_reversed() {
    let coloured =
        |buffer: &Buffer| buffer.content().iter().filter(|cell| cell.fg != Color::Reset).count();
    let plain = drawn(&mut opened(), (140, 40), false);
    assert_eq!(coloured(&plain), 0);
    assert!(coloured(&drawn(&mut compared(), (140, 40), true)) > 0);
    let reversed = plain.content().iter().filter(|it| it.modifier.contains(Modifier::REVERSED));
    assert!(reversed.count() > 0);
}

#[test]
fn no_control_character_reaches_the_screen() {
    let bad = "a\u{1b}[2J\u{202e}\u{7}";
    let mut app = App::new();
    let mut task = summary(bad, 1, 1);
    task.title = Some(bad.into());
    task.last_error = Some(bad.into());
    app.tasks.add(Listed { items: vec![task], next: None });
    let check = |app: &mut App| {
        for size in SIZES {
            for cell in drawn(app, size, true).content() {
                let symbol = cell.symbol();
                assert!(!symbol.contains(|c: char| c.is_control() || c == '\u{202e}'));
            }
        }
    };
    check(&mut app);
    let mut view = view(bad, 30);
    let mut page = turns(0, 10, 10);
    for turn in &mut page.items {
        turn.said = Some(bad.into());
        turn.name = Some(bad.into());
        turn.failed = Some(bad.into());
        turn.calls[0].tool = bad.into();
    }
    view.take_turns(0, page);
    app.open(view);
    app.say(Tone::Plain, printable(bad));
    check(&mut app);
    press(&mut app, "/");
    app.press(Stroke::Text(bad.into()));
    check(&mut app);
}

#[test]
fn the_cost_follows_the_screen_and_not_the_task() {
    let requests = |events: u64| {
        let mut app = App::new();
        app.open(view("essay", events));
        // Before it is drawn, the size of the screen is not known.
        let mut made = answer(&mut app);
        let mut terminal = Terminal::new(TestBackend::new(140, 40)).unwrap();
        let looks = Looks { color: false, now_us: NOW_US };
        for keys in ["", "g", "G", "v", "g"] {
            press(&mut app, keys);
            terminal.draw(|frame| draw(frame, &mut app, looks)).unwrap();
            made.extend(answer(&mut app));
        }
        made
    };
    let (short, long) = (requests(3_000), requests(999_999));
    assert_eq!(short.len(), long.len(), "{long:?}");
    assert!(long.len() < 30, "{long:?}");
    let items = long.iter().map(|request| match request {
        Request::Turns(_, count) | Request::Rows(_, count) => *count,
        _ => 0,
    });
    assert!(items.sum::<u64>() <= 400, "{long:?}");
}
