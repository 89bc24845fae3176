use super::*;

/// Returns a line of a session with its id, its parent, and its calls or answers.
fn line(uuid: &str, parent: &str, talk: Talk) -> SessionLine {
    SessionLine {
        uuid: Some(uuid.into()),
        parent: Some(parent.into()).filter(|parent: &String| !parent.is_empty()),
        part: Part::Message(talk),
        ..SessionLine::default()
    }
}

fn message(uuid: &str, parent: &str) -> SessionLine {
    line(uuid, parent, Talk::default())
}

fn spots(lines: &[SessionLine]) -> Vec<Spot> {
    let mut tree = Tree::new(1);
    lines.iter().map(|line| tree.place(line).0).collect()
}

fn fork(branch: BranchNo, behind: LineIndex, side: bool) -> Spot {
    Spot::Fork { branch, behind, side }
}

#[test]
fn a_line_behind_one_that_is_not_the_last_begins_a_branch() {
    let lines = [
        message("a", ""),
        message("b", "a"),
        message("c", "a"),
        message("d", "b"),
        message("e", "c"),
        message("f", ""),
    ];
    let expected = [
        Spot::End(0),
        Spot::End(0),
        fork(1, 1, false),
        Spot::End(0),
        Spot::End(1),
        fork(2, 0, false),
    ];
    assert_eq!(spots(&lines), expected);
}

#[test]
fn results_of_calls_made_together_stay_on_the_branch_of_the_calls() {
    let call = |id: &str| Talk { called: vec![(key(id), None)], ..Talk::default() };
    let result = |id: &str| Talk { returned: vec![key(id)], ..Talk::default() };
    let lines = [
        line("a", "", call("1")),
        line("b", "a", call("2")),
        line("ra", "a", result("1")),
        line("rb", "b", result("2")),
        message("c", "rb"),
        // The call was answered before: the user rewound the session.
        line("again", "a", result("1")),
    ];
    let expected = [Spot::End(0); 5].into_iter().chain([fork(1, 1, false)]);
    assert_eq!(spots(&lines), expected.collect::<Vec<_>>());
}

#[test]
fn a_line_that_is_passed_over_has_its_calls_and_its_parent_goes_on() {
    let call = |id: &str| Talk { called: vec![(key(id), None)], ..Talk::default() };
    let result = |id: &str| Talk { returned: vec![key(id)], ..Talk::default() };
    let mut tree = Tree::new(1);
    assert_eq!(tree.place(&message("a", "")).0, Spot::End(0));
    let called = vec![(key("1"), None), (key("2"), None)];
    tree.skip(&line("b", "a", Talk { called, ..Talk::default() }));
    assert!(tree.has("b") && tree.has_call(key("1")));
    for answer in [line("r1", "b", result("1")), line("r2", "b", result("2"))] {
        assert_eq!(tree.place(&answer).0, Spot::End(0));
    }
    tree.skip(&line("c", "r2", call("3")));
    assert_eq!(tree.place(&message("d", "c")).0, Spot::End(0));
    assert_eq!(tree.orphans, 0);
}

#[test]
fn a_prompt_that_is_passed_over_counts_where_the_session_goes_back() {
    let follows = |part: Part| SessionLine { follows: true, part, ..SessionLine::default() };
    let prompt = || follows(Part::Message(Talk { prompt: Some("p".into()), ..Talk::default() }));
    let back = |prompts: u64| follows(Part::Back(Back::Prompts(prompts)));
    // Two prompts, of which the second is skipped, and one or two are rewound.
    for (prompts, behind) in [(1, None), (2, Some(0))] {
        let mut tree = Tree::new(1);
        tree.place(&prompt());
        tree.skip(&prompt());
        let (_, place) = tree.place(&back(prompts));
        tree.settle(place.unwrap(), 3);
        let (spot, _) = tree.place(&prompt());
        let expected = fork(1, behind.unwrap_or(1), false);
        assert_eq!(spot, expected, "{prompts}");
    }
}

#[test]
fn what_says_nothing_begins_no_branch() {
    let nothing =
        |uuid: &str, parent: &str| SessionLine { part: Part::Nothing, ..message(uuid, parent) };
    let lines = [
        message("a", ""),
        nothing("n", "a"),
        message("b", "a"),
        nothing("m", "a"),
        message("c", "b"),
        message("d", "n"),
    ];
    let mut expected = vec![Spot::End(0); 5];
    expected.push(fork(1, 1, false));
    assert_eq!(spots(&lines), expected);
}

#[test]
fn another_conversation_begins_behind_the_call_that_asks_for_it() {
    let call = Talk { called: vec![(key("1"), Some(key("look")))], ..Talk::default() };
    let side = |uuid: &str, text: &str| SessionLine {
        side: true,
        ..line(uuid, "", Talk { text: Some(key(text)), ..Talk::default() })
    };
    let lines = [
        message("a", ""),
        line("b", "a", call),
        side("s", "look"),
        SessionLine { side: true, ..message("s2", "s") },
        side("t", "what nobody asked for"),
        message("c", "b"),
    ];
    let expected =
        [Spot::End(0), Spot::End(0), fork(1, 2, true), Spot::End(1), Spot::Alone(2), Spot::End(0)];
    assert_eq!(spots(&lines), expected);
}

#[test]
fn cycles_and_unknown_lines_go_on_where_the_file_was() {
    let lines = [message("a", "b"), message("b", "a"), message("c", "c")];
    assert_eq!(spots(&lines), [Spot::End(0); 3]);
    let mut tree = Tree::new(1);
    for line in &lines {
        tree.place(line);
    }
    assert_eq!(tree.orphans, 2);
}

/// Returns a line that follows the one before it.
fn next(part: Part) -> SessionLine {
    SessionLine { follows: true, part, ..SessionLine::default() }
}

fn prompt(uuid: &str) -> SessionLine {
    let talk = Talk { prompt: Some("do it".into()), ..Talk::default() };
    SessionLine { uuid: Some(uuid.into()), ..next(Part::Message(talk)) }
}

fn answer() -> SessionLine {
    next(Part::Message(Talk::default()))
}

fn back(back: Back) -> SessionLine {
    next(Part::Back(back))
}

#[test]
fn lines_without_parents_follow_each_other_until_the_session_goes_back() {
    let lines = [
        next(Part::Nothing),
        prompt("a"),
        answer(),
        prompt("b"),
        answer(),
        back(Back::Prompts(1)),
        next(Part::Nothing),
        prompt("c"),
        back(Back::Prompts(2)),
        answer(),
        back(Back::Before("c".into())),
        answer(),
        back(Back::Before("nowhere".into())),
        answer(),
        back(Back::Beginning),
        prompt("d"),
    ];
    let mut expected = vec![Spot::End(0); 6];
    expected.extend([fork(1, 3, false), Spot::End(1), Spot::End(1)]);
    expected.extend([fork(2, 1, false), Spot::End(2)]);
    expected.extend([fork(3, 7, false), Spot::End(3), Spot::End(3), Spot::End(3)]);
    expected.push(fork(4, 0, false));
    assert_eq!(spots(&lines), expected);
}

#[test]
fn steps_are_counted_from_where_the_session_went_back_to() {
    let mut tree = Tree::new(1);
    let steps = |tree: &mut Tree, line: &SessionLine| {
        tree.place(line);
        tree.step(tree.current())
    };
    let lines = [
        prompt("a"),
        prompt("b"),
        back(Back::Prompts(1)),
        prompt("c"),
        // Twice in a row.
        back(Back::Prompts(1)),
        back(Back::Prompts(1)),
        prompt("d"),
        // More than there are.
        back(Back::Prompts(9)),
        prompt("e"),
    ];
    let told: Vec<u64> = lines.iter().map(|line| steps(&mut tree, line)).collect();
    assert_eq!(told, [1, 2, 2, 2, 2, 2, 1, 1, 1]);
}

#[test]
fn a_point_that_is_not_there_changes_nothing_about_where_the_session_goes_back_to() {
    let nowhere = Back::Before("nowhere".into());
    let lines = [prompt("a"), prompt("b"), back(Back::Prompts(1)), back(nowhere), answer()];
    let expected = [Spot::End(0); 4].into_iter().chain([fork(1, 1, false)]);
    assert_eq!(spots(&lines), expected.collect::<Vec<_>>());
}
