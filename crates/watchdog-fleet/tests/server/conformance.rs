//! The suite of the shared store on a real server: as the role with the fewest rights, over TLS, and through a pooler in transaction mode.

use watchdog_store::SharedStore;

use crate::test_database::TestDatabase;
use crate::{store, with_tables};

fn over_tls(test: fn(&dyn SharedStore)) {
    let database = TestDatabase::new();
    with_tables(&database);
    test(&store(&database.full_address("worker")));
}

fn through_a_pooler(test: fn(&dyn SharedStore)) {
    let database = TestDatabase::new();
    with_tables(&database);
    let address = database
        .pooler_address("worker")
        .expect("pgbouncer is not installed: apt-get install pgbouncer");
    test(&store(&address));
}

mod direct {
    crate::on_each_shared_test!(super::over_tls);
}

mod pooled {
    crate::on_each_shared_test!(super::through_a_pooler);
}
