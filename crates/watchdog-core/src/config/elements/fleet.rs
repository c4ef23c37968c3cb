//! `fleet`: what goes to the remote beside the branch of a task, where several machines share a queue.

use super::super::key_kinds::FLAG;
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::settings::{ConfigSettings, FleetSettings};

pub(in super::super) static BLOCK: KeyBlock<FleetSettings> = KeyBlock {
    name: "fleet",
    defaults: || ConfigSettings::default().fleet,
    keys: keys! { FleetSettings;
        "push_snapshots" => push_snapshots: FLAG,
            "whether snapshots of uncommitted work on a task go to the remote when the work ends, for the machine that takes over (see \
             [Snapshots that travel](fleet.md#snapshots-that-travel)). Secrets and over-size files never go";
    },
    rules: no_rules,
};

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};

    #[test]
    fn snapshots_stay_on_their_machine_unless_a_person_says_otherwise_and_trust_shows_it() {
        assert!(!reads("{}").fleet.push_snapshots && reads("{}").commands().is_empty());
        let sharing = reads(r#"{"fleet": {"push_snapshots": true}}"#);
        assert!(sharing.fleet.push_snapshots);
        assert_eq!(
            sharing.commands(),
            ["fleet.push_snapshots: pushes snapshots of uncommitted work on tasks"]
        );
        fails(
            r#"{"fleet": {"push_snapshots": 1}}"#,
            "fleet.push_snapshots: expected true or false, found the number 1",
        );
    }
}
