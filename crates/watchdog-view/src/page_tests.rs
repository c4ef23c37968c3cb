//! The page is one file that loads nothing, and no name can break out of its data.

use jiff::civil::date;

use super::*;

fn figures(names: &[&str]) -> PageFigures {
    let sums: CounterSums = serde_json::from_str(
        r#"{"judged/session/new_commits": 300, "sessions_started": 1, "input_tokens": 9}"#,
    )
    .unwrap();
    let works = names
        .iter()
        .map(|name| (("w".to_owned(), (*name).to_owned()), sums.clone()))
        .collect();
    PageFigures {
        from: date(2026, 3, 1),
        to: date(2026, 3, 7),
        measured_since: Some(date(2026, 3, 1)),
        made: "2026-03-07T05:06:07Z".parse().unwrap(),
        days: BTreeMap::from([(date(2026, 3, 2), works)]),
        completed: Vec::new(),
        paths: BTreeMap::new(),
        notes: Vec::new(),
    }
}

/// The library is vendored whole: what stands here is what the registry has.
#[test]
fn chart_library_matches_its_published_bytes() {
    let sum = |text: &str| {
        Sha256::digest(text.as_bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        sum(CHARTS),
        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"
    );
    assert_eq!(
        sum(include_str!("page/uPlot-1.6.32.min.css")),
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"
    );
    let licence = include_str!("page/uPlot-LICENSE");
    assert!(licence.contains("MIT License") && CHARTS.contains("(v1.6.32)"));
}

#[test]
fn names_cannot_close_data_or_reverse_text() {
    let long = "x".repeat(10_000);
    let page = render_page(&figures(&[
        "</script><script>alert(1)</script>",
        "<!--",
        "\u{202e}gnp",
        &long,
    ]));
    let data = page
        .split_once(r#"id="data">"#)
        .unwrap()
        .1
        .split_once("</script>")
        .unwrap()
        .0;
    assert!(!data.contains('<'), "{data}");
    let read: serde_json::Value = serde_json::from_str(data).unwrap();
    let names: Vec<&str> = read["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"</script><script>alert(1)</script>") && names.contains(&"\\u{202e}gnp"),
        "{names:?}"
    );
    assert!(names.iter().all(|name| name.len() <= 210));
    assert_eq!(
        page.matches("<script").count(),
        3,
        "the data, the library, the page's own"
    );
}

#[test]
fn page_loads_only_its_own_parts() {
    let page = render_page(&figures(&["s"]));
    for reference in [
        "src=",
        "url(",
        "@import",
        "fetch(",
        "XMLHttpRequest",
        "eval(",
    ] {
        assert!(!page.contains(reference), "{reference}");
    }
    let policy = page
        .split_once("Content-Security-Policy\" content=\"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(page.len() < 120_000, "{}", page.len());
}

#[test]
fn page_contains_only_the_data_it_shows() {
    let read = figures(&["a", "b"]).to_json();
    assert_eq!(
        read["words"],
        serde_json::json!(["judged/session/new_commits", "sessions_started"]),
        "tokens are not shown"
    );
    let mut of_agents = figures(&["a"]);
    let sums = r#"{"agent/sessions_ended/codex": 2, "agent/cost_micros/codex": 250000, "agent/cost_micros/a/path.json": 20000}"#;
    let own = serde_json::from_str(sums).unwrap();
    of_agents.days = BTreeMap::from([(
        date(2026, 3, 2),
        BTreeMap::from([(("w".to_owned(), "a".to_owned()), own)]),
    )]);
    let of_agents = of_agents.to_json();
    let words = [
        "agent/cost_micros/a/path.json",
        "agent/cost_micros/codex",
        "agent/sessions_ended/codex",
    ];
    assert_eq!(
        of_agents["words"],
        serde_json::json!(words),
        "what each agent did is"
    );
    assert_eq!(
        (&read["works"], &read["names"]),
        (
            &serde_json::json!([[0, 1], [0, 2]]),
            &serde_json::json!(["(w)", "a", "b"])
        )
    );
}
