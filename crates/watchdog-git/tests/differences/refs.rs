//! Refs: each branch and tag that git lists, with its object.
//!
//! Different by design: a ref that leads to another one is not listed here, as it proves no more than that one.

use watchdog_git::Worktree;

use crate::BATCH;
use crate::drawn::DrawnNumbers;
use crate::repository::ScratchRepository;

const FOLDERS: &[&str] = &[
    "heads",
    "tags",
    "remotes/origin",
    "heads/deep/er",
    "notes",
    "odd",
    "heads/é",
];

/// A batch of refs, each by a name of its own.
pub fn batch(drawn: &mut DrawnNumbers) {
    let repository = ScratchRepository::new();
    let mut ids = repository.commits(6);
    repository.git(&["tag", "-a", "-m", "t", "annotated", &ids[2]]);
    let tag = repository
        .git(&["rev-parse", "annotated"])
        .trim()
        .to_owned();
    ids.push(tag.clone());
    let mut packed: Vec<(String, String)> = Vec::new();
    for n in 0..BATCH {
        let name = format!("refs/{}/case{n}", drawn.one_of(FOLDERS));
        let id = drawn.one_of(&ids).clone();
        let other = drawn.one_of(&ids).clone();
        let loose = match drawn.below(16) {
            0..=4 => None,
            5 => Some(String::new()),
            6 => Some("garbage\n".into()),
            7 => Some(format!("{}\n", &id[..39])),
            8 => Some(format!("{}\n", "0".repeat(40))),
            9 => Some(format!("{id} \n")),
            10 => Some(id.to_uppercase() + "\n"),
            11 => Some(id.clone()),
            12 => Some("ref: refs/heads/main\n".into()),
            13 => Some("ref: refs/heads/nowhere\n".into()),
            _ => Some(format!("{id}\n")),
        };
        if loose.is_none() || drawn.below(2) == 0 {
            packed.push((name.clone(), other));
        }
        if let Some(content) = loose {
            repository.write(format!(".git/{name}"), content);
        }
        if drawn.below(20) == 0 {
            repository.write(format!(".git/{name}.lock"), "");
        }
    }
    packed.sort();
    let mut file = String::from(*drawn.one_of(&[
        "",
        "# pack-refs with: peeled fully-peeled sorted \n",
        "# pack-refs with: peeled \n",
    ]));
    for (name, id) in &packed {
        file.push_str(&format!("{id} {name}\n"));
        if *id == tag {
            file.push_str(&format!("^{}\n", ids[2]));
        }
    }
    repository.write(".git/packed-refs", &file);

    let listed = repository.git(&[
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
    ]);
    let mut by_git: Vec<String> = listed
        .lines()
        .filter_map(|line| line.strip_suffix(' '))
        .map(str::to_owned)
        .collect();
    by_git.sort();
    let tips = Worktree::open(&repository.root)
        .expect("it is a repository")
        .ref_tips()
        .expect("they can be listed");
    let mut ours: Vec<String> = tips
        .iter()
        .filter(|(name, _)| name.starts_with("refs/"))
        .map(|(name, id)| format!("{name} {id}"))
        .collect();
    ours.sort();
    let only = |these: &[String], those: &[String]| {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (only(&ours, &by_git), only(&by_git, &ours)),
        (Vec::new(), Vec::new()),
        "only here, only in git"
    );
}
