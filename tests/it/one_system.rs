//! What Linux alone has stands in the crate `watchdog-system`, with its substitutes: no other file asks which system it runs on.

use regex::Regex;

use crate::source_files::sources;

#[test]
fn what_only_linux_has_stands_in_one_crate() {
    // What `rustix` has on Linux alone, and the files that no other system has.
    let linux = Regex::new(concat!(
        r#"\btarget_os\b|"/(proc|sys)/|\bpidfd|\bPidfd|\bsyncfs\b|\bstatfs\b|\bRawDir\b|\bOFlags::(PATH|TMPFILE)\b|\bset_child_subreaper\b"#,
        r"|\bfcntl_setpipe_size\b|\bBoottime\b|\bgettid\b|\bResource::(Msgqueue|As)\b|\brenameat_with\b|\binotify::"
    ))
    .expect("a fixed pattern");
    let mut faults = Vec::new();
    for source in sources(&["src", "crates"])
        .iter()
        .filter(|source| source.room() != Some("system"))
    {
        let found = linux.find_iter(&source.shipped).map(|found| {
            format!(
                "{}: {} belongs into crates/watchdog-system",
                source.name,
                found.as_str()
            )
        });
        faults.extend(found);
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
