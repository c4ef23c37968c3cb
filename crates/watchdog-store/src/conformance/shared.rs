//! The suite of [`SharedStore`](crate::SharedStore) on the engine of this machine.

use super::*;

crate::on_each_shared_test!(on_every_shared_engine);

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_of_events_are_never_the_same(times in prop::collection::vec(0i64..3, 2..200)) {
        let ids: std::collections::HashSet<_> = times.iter().map(|t| event_id(at(*t))).collect();
        prop_assert_eq!(ids.len(), times.len());
    }
}
