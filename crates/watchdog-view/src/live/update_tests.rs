//! What keys and facts do to the view, as tables.

use super::input::{LiveEffect, LiveInput};
use super::live_data::{DeedMeans, DetailTab, LiveRowKey, SnapshotChoice, TabContent};
use super::model::{FILTERS, ListOrder, LiveModel, LiveOverlay};
use super::test_rows::{judged, looping, model, row, running, some_rows};
use super::update::update_model;
use crate::overview::StatusRow;
use crossterm::event::KeyCode;
use watchdog_facts::verdict::Reason;
use watchdog_judge::judge::live_session::{SessionActivity, SessionLiveness};

fn press(model: &mut LiveModel, keys: &[KeyCode]) -> Vec<LiveEffect> {
    keys.iter()
        .flat_map(|key| update_model(model, LiveInput::Key(*key)))
        .collect()
}

fn typed(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

fn names(model: &LiveModel) -> Vec<String> {
    model
        .order
        .iter()
        .map(|at| {
            model.rows[*at]
                .worktree
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

fn chosen(model: &LiveModel) -> String {
    model
        .selected_row()
        .map(|row| {
            row.worktree
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .unwrap_or_default()
}

#[test]
fn attention_sorts_first_and_each_key_sorts() {
    let mut model = model((120, 40));
    assert_eq!(
        names(&model),
        [
            "cart",
            "stuck",
            "auth",
            "日本 shop",
            "half",
            "fresh",
            "site",
            "old"
        ]
    );
    for (key, order, first) in [
        ('2', ListOrder::Worktree, "old"),
        ('3', ListOrder::State, "site"),
        ('4', ListOrder::Newest, "日本 shop"),
        ('5', ListOrder::Session, "stuck"),
        ('1', ListOrder::Attention, "cart"),
        ('s', ListOrder::Worktree, "old"),
    ] {
        press(&mut model, &[KeyCode::Char(key)]);
        assert_eq!(
            (model.sort, names(&model)[0].as_str()),
            (order, first),
            "{key}"
        );
    }
}

#[test]
fn selected_row_stays_selected_as_rows_change() {
    let mut model = model((80, 24));
    press(&mut model, &[KeyCode::Down, KeyCode::Down]);
    assert_eq!(chosen(&model), "auth");
    let mut rows = some_rows();
    rows.insert(
        0,
        judged(row("/home/me/new", "main"), Reason::GitError, "no"),
    );
    update_model(&mut model, LiveInput::Rows(rows, Vec::new()));
    assert_eq!(chosen(&model), "auth");
    let others = some_rows()
        .into_iter()
        .filter(|row| !row.worktree.ends_with("auth"));
    let rows = std::iter::once(judged(row("/home/me/new", "main"), Reason::GitError, "no"))
        .chain(others)
        .collect();
    update_model(&mut model, LiveInput::Rows(rows, Vec::new()));
    assert_eq!(
        chosen(&model),
        "日本 shop",
        "what stands in its place is chosen"
    );
    update_model(&mut model, LiveInput::Rows(Vec::new(), Vec::new()));
    assert_eq!(
        (
            model.selected_row().is_none(),
            press(&mut model, &[KeyCode::Enter, KeyCode::Char('a')]).len()
        ),
        (true, 0)
    );
}

#[test]
fn filter_and_search_apply_until_escape() {
    let mut model = model((80, 24));
    press(&mut model, &[KeyCode::Char('f')]);
    assert_eq!(
        (FILTERS[model.filter], names(&model)),
        ("needs you", vec!["cart".to_owned(), "stuck".to_owned()])
    );
    press(&mut model, &[KeyCode::Char('f')]);
    assert_eq!(names(&model), ["stuck", "auth", "日本 shop"]);
    press(&mut model, &[KeyCode::Esc]);
    press(&mut model, &typed("/CART"));
    assert_eq!(
        names(&model),
        ["cart", "日本 shop"],
        "the name of the work is searched, too"
    );
    press(
        &mut model,
        &[
            KeyCode::Backspace,
            KeyCode::Backspace,
            KeyCode::Backspace,
            KeyCode::Backspace,
        ],
    );
    press(&mut model, &typed("日本"));
    assert_eq!(names(&model), ["日本 shop"]);
    assert!(
        press(&mut model, &typed("q"))
            .iter()
            .all(|effect| !matches!(effect, LiveEffect::Quit(_))),
        "it is typed"
    );
    press(&mut model, &[KeyCode::Esc]);
    assert_eq!((model.typing, names(&model).len()), (false, 8));
    model.only = vec!["gone".into()];
    model.arrange();
    assert_eq!(names(&model), ["old"]);
}

#[test]
fn only_the_rows_on_the_screen_are_read() {
    let mut model = model((80, 8));
    let wanted = |effects: Vec<LiveEffect>| match effects.last() {
        Some(LiveEffect::ReadRows(rows)) => rows
            .iter()
            .map(|query| query.key.worktree.display().to_string())
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let first = wanted(update_model(&mut model, LiveInput::Resized(80, 8)));
    assert_eq!(
        (first.len(), first[0].as_str()),
        (5, "/home/me/projects/cart")
    );
    let last = wanted(press(&mut model, &[KeyCode::End]));
    assert_eq!((last.len(), last[4].as_str()), (5, "/home/me/old"));
}

#[test]
fn a_session_that_stalls_comes_to_the_top() {
    let mut model = model((80, 24));
    let key = LiveRowKey {
        worktree: "/home/me/projects/auth".into(),
        spec: "spec/auth".into(),
    };
    let live = SessionLiveness {
        doing: SessionActivity::Stalled,
        idle: None,
    };
    update_model(&mut model, LiveInput::Session(key, live));
    assert_eq!(names(&model)[..3], ["auth", "cart", "stuck"]);
    update_model(&mut model, LiveInput::Rows(some_rows(), Vec::new()));
    assert_eq!(
        names(&model)[..3],
        ["auth", "cart", "stuck"],
        "the records do not say it, and it stays known"
    );
}

#[test]
fn unreadable_store_is_reported_until_readable() {
    let mut model = model((80, 24));
    update_model(&mut model, LiveInput::StoreFailed("disk I/O error".into()));
    assert_eq!(
        (model.store_error.as_deref(), names(&model).len()),
        (Some("disk I/O error"), 8),
        "what was read stays"
    );
    update_model(&mut model, LiveInput::Rows(some_rows(), Vec::new()));
    assert_eq!(model.store_error, None);
}

/// The commands of the menu of a row.
fn menu(model: &mut LiveModel) -> Vec<(String, String)> {
    press(model, &[KeyCode::Char('a')]);
    match model.overlay.take() {
        Some(LiveOverlay::Menu(found, 0)) => found
            .into_iter()
            .map(|deed| (deed.name, deed.command))
            .collect(),
        Some(LiveOverlay::Message(_, lines, _)) => lines
            .into_iter()
            .map(|line| ("-".to_owned(), line))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_offered_action_names_a_permitted_command() {
    let open = |row: StatusRow| StatusRow {
        breaker: watchdog_core::decision::breaker::BreakerView {
            strikes: 2,
            ..row.breaker.clone()
        },
        ..row
    };
    let dir = "watchdog -C /w";
    let owned = |pairs: &[(&str, String)]| {
        pairs
            .iter()
            .map(|(name, line)| ((*name).to_owned(), line.clone()))
            .collect::<Vec<_>>()
    };
    for (row, expected) in [
        (
            open(row("/w", "a b")),
            vec![
                ("judge now", format!("{dir} check --once --spec 'a b'")),
                ("rescue", format!("{dir} rescue --spec 'a b'")),
                (
                    "reset the breaker",
                    format!("{dir} breaker --spec 'a b' reset"),
                ),
                ("trust completion.json", format!("{dir} trust")),
            ],
        ),
        (
            looping(running(row("/w", "s"), 80_000, SessionActivity::Running)),
            vec![
                ("pause the loop", "kill -USR1 7".into()),
                ("end the loop", "kill -TERM 7".into()),
                ("trust completion.json", format!("{dir} trust")),
            ],
        ),
        (
            StatusRow {
                gone: true,
                ..row("/w", "s")
            },
            vec![("-", "Nothing can be done here: its folder is gone.".into())],
        ),
    ] {
        let mut model = model((80, 24));
        model.take_rows(vec![row]);
        assert_eq!(menu(&mut model), owned(&expected));
        model.no_deeds = Some("not from here".into());
        assert_eq!(menu(&mut model), owned(&[("-", "not from here".into())]));
    }
}

#[test]
fn only_y_confirms_an_action() {
    let mut model = model((80, 24));
    press(&mut model, &[KeyCode::End, KeyCode::Up]);
    for no in [KeyCode::Char('n'), KeyCode::Esc, KeyCode::Char('q')] {
        assert_eq!(
            press(
                &mut model,
                &[
                    KeyCode::Char('a'),
                    KeyCode::Enter,
                    KeyCode::Enter,
                    KeyCode::Down,
                    no
                ]
            ),
            []
        );
        assert_eq!((&model.overlay, &model.busy), (&None, &None), "{no:?}");
    }
    let effects = press(
        &mut model,
        &[KeyCode::Char('a'), KeyCode::Enter, KeyCode::Char('y')],
    );
    let [LiveEffect::Perform(deed)] = &effects[..] else {
        panic!("{effects:?}")
    };
    let words = [
        "watchdog",
        "-C",
        "/home/me/projects/site",
        "check",
        "--once",
        "--spec",
        "main",
    ];
    assert_eq!(
        deed.means,
        Some(DeedMeans::Words(words.iter().map(Into::into).collect()))
    );
    press(&mut model, &[KeyCode::Char('a')]);
    assert!(
        matches!(&model.overlay, Some(LiveOverlay::Message(_, lines, _)) if lines[0].contains("being done")),
        "one at a time"
    );
    update_model(
        &mut model,
        LiveInput::Performed("judge now".into(), 0, vec!["complete".into()]),
    );
    assert_eq!((&model.busy, model.overlay.is_some()), (&None, true));
}

#[test]
fn trust_confirmation_requires_reading_its_commands() {
    let mut model = model((80, 24));
    press(
        &mut model,
        &[KeyCode::Home, KeyCode::Char('a'), KeyCode::End],
    );
    let effects = press(&mut model, &[KeyCode::Enter]);
    let [LiveEffect::ReadTrust(key)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(
        press(&mut model, &[KeyCode::Char('y')]),
        [],
        "there is nothing to confirm yet"
    );
    let deed = super::deed::trust_deed(
        &model.commands,
        key,
        "/w/completion.json".as_ref(),
        b"{}".to_vec(),
        &["make test".to_owned()],
    );
    update_model(&mut model, LiveInput::Prepared(Ok(deed.clone())));
    assert_eq!(
        model.overlay, None,
        "whoever closed the box does not want it any more"
    );
    press(
        &mut model,
        &[KeyCode::Char('a'), KeyCode::End, KeyCode::Enter],
    );
    update_model(&mut model, LiveInput::Prepared(Ok(deed)));
    let Some(LiveOverlay::Confirm(deed, _)) = &model.overlay else {
        panic!("{:?}", model.overlay)
    };
    assert!(
        deed.says.iter().any(|line| line.contains("make test")),
        "{deed:?}"
    );
    assert!(matches!(&deed.means, Some(DeedMeans::TrustFile { bytes, .. }) if bytes == b"{}"));
}

#[test]
fn detail_tabs_load_when_opened_and_escape_returns() {
    let mut model = model((80, 24));
    let opened = |effects: Vec<LiveEffect>| match effects.last() {
        Some(LiveEffect::ReadTab(tab)) => tab.as_ref().map(|(_, tab)| *tab),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        opened(press(&mut model, &[KeyCode::Enter])),
        Some(DetailTab::Timeline)
    );
    for tab in [DetailTab::Output, DetailTab::Verdict, DetailTab::Snapshots] {
        assert_eq!(opened(press(&mut model, &[KeyCode::Right])), Some(tab));
    }
    let key = model.detail.as_ref().unwrap().key.clone();
    let snapshot = |id: &str| SnapshotChoice {
        worktree: key.worktree.clone(),
        id: id.into(),
        line: id.into(),
    };
    let content = TabContent {
        lines: Vec::new(),
        snapshots: vec![snapshot("a/1"), snapshot("a/2")],
    };
    update_model(
        &mut model,
        LiveInput::Tab(key.clone(), DetailTab::Tasks, TabContent::default()),
    );
    assert_eq!(
        model.detail.as_ref().unwrap().content,
        None,
        "another page is open by now"
    );
    update_model(
        &mut model,
        LiveInput::Tab(key.clone(), DetailTab::Snapshots, content),
    );
    assert_eq!(
        press(&mut model, &[KeyCode::Down, KeyCode::Enter]),
        [LiveEffect::ReadDiff(snapshot("a/2"))]
    );
    let restore = menu(&mut model);
    assert!(
        restore[0]
            .1
            .ends_with("rescue restore a/2 --branch restored/a-2"),
        "{restore:?}"
    );
    assert_eq!(
        press(&mut model, &[KeyCode::Esc]),
        [],
        "back to the list of snapshots"
    );
    assert_eq!(opened(press(&mut model, &[KeyCode::Esc])), None);
    assert_eq!(
        (
            model.detail.is_none(),
            press(&mut model, &[KeyCode::Char('q')])
        ),
        (true, vec![LiveEffect::Quit(0)])
    );
}

#[test]
fn output_is_followed_until_somebody_scrolls_up() {
    let mut model = model((80, 14));
    press(&mut model, &[KeyCode::Enter, KeyCode::Char('2')]);
    let key = model.detail.as_ref().unwrap().key.clone();
    let lines = |count: usize| TabContent {
        lines: (0..count).map(|n| format!("line {n}")).collect(),
        snapshots: Vec::new(),
    };
    let take = |model: &mut LiveModel, count| {
        update_model(
            model,
            LiveInput::Tab(key.clone(), DetailTab::Output, lines(count)),
        );
        model.detail.as_ref().unwrap().scroll
    };
    assert_eq!(take(&mut model, 100), 90);
    assert_eq!(take(&mut model, 120), 110);
    press(&mut model, &[KeyCode::Up]);
    assert_eq!(take(&mut model, 150), 109);
    press(&mut model, &[KeyCode::End]);
    assert_eq!(take(&mut model, 160), 150);
}

#[test]
fn ctrl_c_signal_and_ctrl_z_work_everywhere() {
    for keys in [
        &[][..],
        &[KeyCode::Enter],
        &[KeyCode::Char('/')],
        &[KeyCode::Char('?')],
        &[KeyCode::Char('a'), KeyCode::Enter],
    ] {
        let mut model = model((80, 24));
        press(&mut model, keys);
        assert_eq!(
            update_model(&mut model, LiveInput::Interrupted),
            [LiveEffect::Quit(2)]
        );
        assert_eq!(
            update_model(&mut model, LiveInput::Suspended),
            [LiveEffect::Suspend]
        );
        assert_eq!(
            update_model(&mut model, LiveInput::Ended(15)),
            [LiveEffect::Quit(15)]
        );
    }
}

#[test]
fn click_selects_row_and_second_click_opens_it() {
    let mut model = model((80, 24));
    update_model(&mut model, LiveInput::Click(4));
    assert_eq!(chosen(&model), "auth");
    for line in [0, 23] {
        update_model(&mut model, LiveInput::Click(line));
    }
    assert_eq!(
        (chosen(&model).as_str(), model.detail.is_none()),
        ("auth", true)
    );
    update_model(&mut model, LiveInput::Click(4));
    assert!(model.detail.is_some());
    press(&mut model, &[KeyCode::Char('?')]);
    update_model(&mut model, LiveInput::Click(4));
    assert_eq!(model.overlay, None, "a click closes what any key closes");
}
