//! The screens of the view, held as text, at several sizes. `UPDATE_EXPECT=1 cargo test --lib live` writes them anew.

use crossterm::event::KeyCode;
use expect_test::expect_file;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

use super::draw::draw_view;
use super::input::LiveInput;
use super::live_data::{DetailTab, SnapshotChoice, TabContent};
use super::model::LiveModel;
use super::test_rows::{model, moment, row};
use super::update::update_model;
use watchdog_facts::shell_line::WorktreeCommands;

fn frame(model: &LiveModel) -> Buffer {
    let area = Rect::new(0, 0, model.size.0, model.size.1);
    let mut buffer = Buffer::empty(area);
    draw_view(model, area, &mut buffer);
    buffer
}

/// The lines of a frame, without blanks at their ends. The cell behind a wide character belongs to it.
fn screen(model: &LiveModel) -> String {
    let buffer = frame(model);
    let mut text = String::new();
    for y in 0..model.size.1 {
        let mut line = String::new();
        let mut x = 0;
        while x < model.size.0 {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        assert!(line.width() <= model.size.0.into(), "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn press(model: &mut LiveModel, keys: &[KeyCode]) {
    for key in keys {
        update_model(model, LiveInput::Key(*key));
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/it/fixtures/screens/live-{name}.txt"))
}

#[test]
fn the_list_fits_every_size() {
    for (columns, rows) in [(80, 24), (120, 40), (40, 12), (40, 10)] {
        expect_file![fixture(&format!("list.{columns}x{rows}"))]
            .assert_eq(&screen(&model((columns, rows))));
    }
    for columns in 1..60 {
        for rows in 1..12 {
            let mut model = model((columns, rows));
            let _fits = screen(&model);
            press(&mut model, &[KeyCode::Enter]);
            let _fits = screen(&model);
            press(&mut model, &[KeyCode::Char('?')]);
            let _fits = screen(&model);
        }
    }
}

#[test]
fn cut_paths_keep_what_tells_them_apart() {
    let folder = "/home/me/work/a-company-with-a-long-name/platform";
    let mut rows: Vec<_> = ["shop/checkout", "site/checkout", "site/日本語/checkout"]
        .iter()
        .map(|path| {
            row(
                &format!("{folder}/{path}"),
                "spec/a-name-of-thirty-characters",
            )
        })
        .collect();
    rows.push(row("/a\nb", "main"));
    let mut model = LiveModel::new(moment(), (80, 7), WorktreeCommands::default());
    model.take_rows(rows);
    let screens: String = [80, 40, 160]
        .iter()
        .map(|width| {
            model.size.0 = *width;
            screen(&model)
        })
        .collect();
    for line in [
        "not judged  /home/me/w…/shop/checkout       –",
        "not judged  /ho…/site/日本語/checkout       –",
        "not judged  /a\\nb                           –",
        "not judged  /h…/shop/checkout       –",
        "not judged  …/site/…/checkout       –",
        "…/shop/checkout spec/a-name-of-thirty-characters ",
    ] {
        assert!(screens.contains(line), "{line}\n{screens}");
    }
}

#[test]
fn help_menu_and_confirmation_overlay_the_list() {
    let mut model = model((80, 24));
    press(&mut model, &[KeyCode::Char('?')]);
    expect_file![fixture("help.80x24")].assert_eq(&screen(&model));
    press(&mut model, &[KeyCode::Esc, KeyCode::Char('a')]);
    expect_file![fixture("menu.80x24")].assert_eq(&screen(&model));
    press(&mut model, &[KeyCode::Enter]);
    expect_file![fixture("confirm.80x24")].assert_eq(&screen(&model));
    model.size = (40, 12);
    expect_file![fixture("confirm.40x12")].assert_eq(&screen(&model));
}

#[test]
fn a_worktree_has_its_pages() {
    let mut model = model((80, 24));
    press(&mut model, &[KeyCode::Enter]);
    let key = model.detail.as_ref().unwrap().key.clone();
    let events = [
        "01:33             a session began (process 7)",
        "01:59             judged review (untrusted): no",
    ];
    let content = TabContent {
        lines: events.map(str::to_owned).to_vec(),
        snapshots: Vec::new(),
    };
    update_model(
        &mut model,
        LiveInput::Tab(key.clone(), DetailTab::Timeline, content),
    );
    expect_file![fixture("timeline.80x24")].assert_eq(&screen(&model));
    press(&mut model, &[KeyCode::Char('4')]);
    assert!(screen(&model).contains("reading…"));
    let choice = |id: &str| SnapshotChoice {
        worktree: key.worktree.clone(),
        id: id.into(),
        line: format!("1 hour ago      2 files  {id}"),
    };
    let content = TabContent {
        lines: Vec::new(),
        snapshots: vec![choice("main/1"), choice("main/2")],
    };
    update_model(
        &mut model,
        LiveInput::Tab(key.clone(), DetailTab::Snapshots, content),
    );
    press(&mut model, &[KeyCode::Down]);
    expect_file![fixture("snapshots.80x24")].assert_eq(&screen(&model));
    press(&mut model, &[KeyCode::Enter]);
    let patch = [
        "  modified  +1 -1  a.txt",
        "",
        "@@ -1 +1 @@",
        "-old",
        "+new 日本語",
        &"x".repeat(200),
    ];
    let content = TabContent {
        lines: patch.map(str::to_owned).to_vec(),
        snapshots: Vec::new(),
    };
    update_model(&mut model, LiveInput::Diff(choice("main/2"), content));
    expect_file![fixture("diff.80x24")].assert_eq(&screen(&model));
    model.size = (40, 12);
    expect_file![fixture("diff.40x12")].assert_eq(&screen(&model));
}

#[test]
fn empty_list_suggests_command_and_unreadable_store_explains() {
    let mut model = LiveModel::new(moment(), (80, 24), WorktreeCommands::default());
    assert!(screen(&model).contains("reading the records"));
    update_model(
        &mut model,
        LiveInput::StoreFailed("database disk image is malformed".into()),
    );
    assert!(
        screen(&model)
            .contains("cannot read the records, trying again: database disk image is malformed")
    );
    update_model(&mut model, LiveInput::Rows(Vec::new(), Vec::new()));
    expect_file![fixture("empty.80x24")].assert_eq(&screen(&model));
    update_model(
        &mut model,
        LiveInput::Rows(vec![row("/w", "s")], vec!["a row cannot be read".into()]),
    );
    assert!(screen(&model).contains("note: a row cannot be read"));
    press(&mut model, &[KeyCode::Char('f')]);
    assert!(screen(&model).contains("No worktree is like that"));
}

#[test]
fn what_is_unknown_or_unreadable_is_never_zero() {
    let text = screen(&model((120, 40)));
    let line = |name: &str| {
        text.lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{name}:\n{text}"))
            .to_owned()
    };
    let words = |name: &str| {
        line(name)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(
        words("projects/cart").contains(&"?".to_owned())
            && !words("projects/cart").contains(&"0".to_owned()),
        "{text}"
    );
    assert!(
        words("projects/half").contains(&"–".to_owned())
            && !words("projects/half").contains(&"0".to_owned()),
        "{text}"
    );
    assert!(words("projects/site").contains(&"0".to_owned()), "{text}");
}

#[test]
fn colours_change_styles_but_never_the_text() {
    let styled = |model: &LiveModel| {
        frame(model)
            .content()
            .iter()
            .filter(|cell| cell.fg != Color::Reset || cell.modifier != Modifier::empty())
            .count()
    };
    let mut model = model((80, 24));
    for keys in [
        &[][..],
        &[KeyCode::Char('?')],
        &[KeyCode::Esc, KeyCode::Char('a')],
        &[KeyCode::Enter],
    ] {
        press(&mut model, keys);
        model.colour = false;
        let (plain, text) = (styled(&model), screen(&model));
        model.colour = true;
        assert_eq!(
            (plain, styled(&model) > 20, screen(&model)),
            (0, true, text)
        );
    }
}
