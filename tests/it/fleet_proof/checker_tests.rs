//! The checker finds each fault that it is there for, and none where there is none.

use super::checker::{PushedRefs, RoundRecord, TaskOnRemote, TaskVersion, faults};

fn version(
    status: &str,
    holder: Option<&str>,
    fence: Option<i64>,
    until: Option<i64>,
    at: i64,
) -> TaskVersion {
    TaskVersion {
        task: "T1".into(),
        status: status.into(),
        holder: holder.map(Into::into),
        fence,
        until,
        head: (status == "complete").then(|| "c1".into()),
        branch: Some("watchdog/T1".into()),
        began: at,
        written: at + 1,
    }
}

/// T1 was taken by `a`, which died, and completed by `b`; T2 stands on it.
fn honest() -> RoundRecord {
    let of_two = |version: TaskVersion| TaskVersion {
        task: "T2".into(),
        head: version.head.map(|_| "c2".into()),
        ..version
    };
    let push = |task: &str, fence, branch: bool| PushedRefs {
        fences: vec![(task.into(), fence)],
        branches: branch.then(|| task.to_owned()).into_iter().collect(),
    };
    let on_remote = |tip: &str, holds: &[&str]| TaskOnRemote {
        tip: Some(tip.into()),
        holds: holds.iter().map(ToString::to_string).collect(),
    };
    RoundRecord {
        tasks: [("T1".into(), vec![]), ("T2".into(), vec!["T1".into()])].into(),
        versions: vec![
            version("pending", None, None, None, 0),
            version("assigned", Some("a"), Some(1), Some(100), 10),
            version("in_progress", Some("a"), Some(1), Some(100), 20),
            version("assigned", Some("b"), Some(2), Some(300), 150),
            version("in_progress", Some("b"), Some(2), Some(300), 160),
            version("complete", None, Some(2), None, 200),
            of_two(version("assigned", Some("b"), Some(3), Some(300), 210)),
            of_two(version("complete", None, Some(3), None, 220)),
        ],
        pushes: vec![
            push("T1", 1, true),
            push("T1", 2, false),
            push("T1", 2, true),
            push("T2", 3, true),
        ],
        on_remote: [
            ("T1".into(), on_remote("c1", &["T1"])),
            ("T2".into(), on_remote("c2", &["T1", "T2"])),
        ]
        .into(),
        journals: [
            ("a".into(), vec!["a1".into(), "a2".into()]),
            ("b".into(), vec!["b1".into()]),
        ]
        .into(),
        events: [("a", "a1"), ("b", "b1"), ("a", "a2")]
            .map(|(machine, id)| (machine.to_owned(), id.to_owned()))
            .into(),
        followed: ["a1", "b1", "a2"].map(Into::into).into(),
        took_over: false,
    }
}

#[test]
fn an_honest_round_has_no_fault() {
    assert_eq!(faults(&honest()), Vec::<String>::new());
}

#[test]
fn events_lost_in_failover_may_return_reordered() {
    let mut round = RoundRecord {
        took_over: true,
        ..honest()
    };
    round.followed.swap(0, 1);
    assert_eq!(faults(&round), Vec::<String>::new());
}

#[test]
fn each_fault_is_found() {
    type Spoil = fn(&mut RoundRecord);
    let table: [(&str, Spoil); 22] = [
        ("never written down", |round| {
            round.versions.retain(|version| version.task == "T1")
        }),
        ("did not end: it is in_progress", |round| {
            round.versions.remove(5);
        }),
        ("completed under several fences", |round| {
            let late = version("complete", None, Some(1), None, 205);
            round.versions.insert(6, late);
        }),
        ("was complete and became pending", |round| {
            round
                .versions
                .push(version("pending", None, Some(2), None, 230));
        }),
        ("went back from fence", |round| {
            round.versions[4].fence = Some(1)
        }),
        ("while its lease ran", |round| {
            round.versions[2].until = Some(400)
        }),
        ("without a larger fence", |round| {
            for version in &mut round.versions[3..6] {
                version.fence = Some(1);
            }
        }),
        ("by one that did not hold it", |round| {
            round.versions[5].fence = Some(9)
        }),
        ("by one that did not hold it", |round| {
            round.versions[4].status = "pending".into()
        }),
        ("after its lease had ended", |round| {
            round.versions[4].until = Some(180)
        }),
        ("pushed without its fence", |round| {
            round.pushes[2].fences.clear()
        }),
        ("under fence Some(1) after Some(2)", |round| {
            round.pushes.push(round.pushes[0].clone())
        }),
        ("and the remote has Some(\"c0\")", |round| {
            round.on_remote.get_mut("T1").unwrap().tip = Some("c0".into())
        }),
        ("judged at None", |round| round.versions[5].head = None),
        ("lacks the work of [\"T1\"]", |round| {
            round.on_remote.get_mut("T2").unwrap().holds.remove("T1");
        }),
        ("was lost", |round| {
            round.events.remove(0);
            round.followed.remove(0);
        }),
        ("out of order", |round| {
            round.events.swap(0, 2);
            round.followed.swap(0, 2);
        }),
        ("is there twice", |round| {
            round.events.push(("a".into(), "a1".into()));
            round.followed.push("a1".into());
        }),
        ("1 were passed over", |round| {
            round.followed.remove(1);
        }),
        ("a follower saw 3 events of 3", |round| {
            round.followed.swap(0, 1)
        }),
        ("a follower saw 4 events of 3", |round| {
            round.took_over = true;
            round.followed.push("a2".into());
        }),
        ("a follower saw 3 events of 3", |round| {
            round.took_over = true;
            round.followed.swap(0, 2);
        }),
    ];
    for (words, spoil) in table {
        let mut round = honest();
        spoil(&mut round);
        let found = faults(&round);
        assert!(
            found.iter().any(|fault| fault.contains(words)),
            "{words}: {found:?}"
        );
    }
}
