//! The text of `--version`: the version, the commit that it was built from, and the format of the
//! records that it writes.

use std::sync::LazyLock;

use watchdog_store::STORE_FORMAT;

/// For example `0.1.0 (82da737, store format 3)`. A build that is not a release one names no commit: it would have to be built again
/// after each.
pub fn format_short_version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = option_env!("WATCHDOG_COMMIT").unwrap_or("commit unknown");
        format!(
            "{} ({commit}, store format {STORE_FORMAT})",
            env!("CARGO_PKG_VERSION")
        )
    });
    TEXT.as_str()
}
