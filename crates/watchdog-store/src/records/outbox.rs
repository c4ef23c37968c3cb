//! The queue of notices to deliver. A notice stays until some process delivered it or gave up on it.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::row::{self, RecordType};
use crate::engine::{Lease, LocalStore};
use crate::error::StoreError;
use crate::key::RowKey;
use watchdog_core::config::message_template::MessageForm;
use watchdog_core::config::settings::NotifyTarget;

/// The maximum number of queued notices: a receiver that is down for days must not fill the disk.
pub const FULL: usize = 500;

/// An event for one addressee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "NoticeV1", try_from = "NoticeV1")]
pub struct OutboxNotice {
    /// The event to deliver.
    pub event: Value,
    /// The receiver.
    pub to: NotifyTarget,
    /// The deadline of one attempt.
    pub timeout: Duration,
    /// How many further attempts follow one that failed.
    pub retries: u32,
    /// How many attempts there were.
    pub attempts: u32,
    /// When the next attempt may be made.
    pub not_before: Timestamp,
}

#[derive(Serialize, Deserialize)]
pub(super) struct NoticeV1 {
    event: Value,
    command: Option<Vec<String>>,
    url: Option<String>,
    /// Not in `url`: a version that does not know it must not post the bare event there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<MessageAddressV1>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    desktop: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mail: Option<Vec<String>>,
    timeout_seconds: u64,
    retries: u32,
    attempts: u32,
    not_before: Timestamp,
}

#[derive(Serialize, Deserialize)]
pub(super) struct MessageAddressV1 {
    url: String,
    template: String,
}

impl RecordType for OutboxNotice {
    const KIND: &'static str = "outbox";
}

impl From<OutboxNotice> for NoticeV1 {
    fn from(notice: OutboxNotice) -> Self {
        let (mut command, mut url, mut service, mut desktop, mut mail) =
            (None, None, None, false, None);
        match notice.to {
            NotifyTarget::Command(argv) => command = Some(argv),
            NotifyTarget::Url(address) => url = Some(address),
            NotifyTarget::Service { url, form } => {
                service = Some(MessageAddressV1 {
                    url,
                    template: form.source().to_owned(),
                })
            }
            NotifyTarget::Desktop => desktop = true,
            NotifyTarget::Mail(to) => mail = Some(to),
        }
        NoticeV1 {
            event: notice.event,
            command,
            url,
            service,
            desktop,
            mail,
            timeout_seconds: notice.timeout.as_secs(),
            retries: notice.retries,
            attempts: notice.attempts,
            not_before: notice.not_before,
        }
    }
}

impl TryFrom<NoticeV1> for OutboxNotice {
    type Error = String;

    fn try_from(disk: NoticeV1) -> Result<Self, String> {
        let service = match disk.service {
            Some(MessageAddressV1 { url, template }) => Some(NotifyTarget::Service {
                url,
                form: MessageForm::parse(&template)?,
            }),
            None => None,
        };
        let named = [
            disk.command.map(NotifyTarget::Command),
            disk.url.map(NotifyTarget::Url),
            service,
            disk.desktop.then_some(NotifyTarget::Desktop),
            disk.mail.map(NotifyTarget::Mail),
        ];
        let mut named = named.into_iter().flatten();
        let (Some(to), None) = (named.next(), named.next()) else {
            return Err("it must name one receiver".into());
        };
        Ok(OutboxNotice {
            event: disk.event,
            to,
            timeout: Duration::from_secs(disk.timeout_seconds),
            retries: disk.retries,
            attempts: disk.attempts,
            not_before: disk.not_before,
        })
    }
}

/// Puts a notice in, once for each event and rule. `false` where the outbox is full.
pub fn add_notice(
    store: &dyn LocalStore,
    event_id: &str,
    rule: usize,
    notice: &OutboxNotice,
) -> Result<bool, StoreError> {
    if store
        .list(&RowKey::prefix(OutboxNotice::KIND, &[]), None, FULL)?
        .len()
        >= FULL
    {
        return Ok(false);
    }
    // Event ids sort by time, and so do the notices.
    row::create_row(
        store,
        &RowKey::new(OutboxNotice::KIND, &[event_id, &format!("{rule:04}")]),
        notice,
    )?;
    Ok(true)
}

/// The queued notices, oldest first. Skips unreadable ones: a later version may know them.
pub fn list_waiting_notices(
    store: &dyn LocalStore,
) -> Result<Vec<(RowKey, OutboxNotice)>, StoreError> {
    let mut notices = Vec::new();
    row::visit_rows::<OutboxNotice>(store, &[], |key, notice| {
        notices.extend(notice.ok().map(|notice| (key.clone(), notice)))
    })?;
    Ok(notices)
}

/// Takes the right to deliver one; `None` where somebody else does, or did already. The right ends by itself after `ttl`.
pub fn take_notice(
    store: &dyn LocalStore,
    key: &RowKey,
    holder: &str,
    ttl: Duration,
) -> Result<Option<(Lease, OutboxNotice)>, StoreError> {
    let Some(lease) = store.acquire(key, holder, ttl)? else {
        return Ok(None);
    };
    match row::load_row::<OutboxNotice>(store, key) {
        Ok(Some(notice)) => Ok(Some((lease, notice))),
        other => {
            store.release(&lease)?;
            other.map(|_| None)
        }
    }
}

/// Gives it back after an attempt that failed.
pub fn put_back(
    store: &dyn LocalStore,
    lease: &Lease,
    notice: &OutboxNotice,
) -> Result<(), StoreError> {
    row::overwrite_row(store, &lease.key, notice)?;
    store.release(lease).map(drop)
}

/// Removes one that was delivered or given up.
pub fn remove_notice(store: &dyn LocalStore, key: &RowKey) -> Result<(), StoreError> {
    row::remove_row::<OutboxNotice>(store, key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::SharedStore as _;
    use crate::sqlite::tests::Scratch;
    use crate::{SqliteStore, StoreError};

    fn notice(to: NotifyTarget) -> OutboxNotice {
        let timeout = Duration::from_secs(3);
        OutboxNotice {
            event: json!({"id": "a"}),
            to,
            timeout,
            retries: 2,
            attempts: 1,
            not_before: Timestamp::UNIX_EPOCH,
        }
    }

    fn command() -> NotifyTarget {
        NotifyTarget::Command(vec!["x".into(), String::new()])
    }

    #[test]
    fn notices_wait_in_order_without_duplicates() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let url = NotifyTarget::Url("http://h".into());
        for (event, rule, to) in [
            ("b", 0, command()),
            ("a", 10, url.clone()),
            ("a", 2, command()),
            ("a", 2, url.clone()),
        ] {
            assert!(add_notice(&store, event, rule, &notice(to)).unwrap());
        }
        let notices: Vec<_> = list_waiting_notices(&store).unwrap();
        assert_eq!(
            notices
                .iter()
                .map(|(_, notice)| notice.to.clone())
                .collect::<Vec<_>>(),
            [command(), url, command()]
        );
        for (key, _) in notices {
            remove_notice(&store, &key).unwrap();
        }
        assert_eq!(list_waiting_notices(&store).unwrap(), []);
    }

    #[test]
    fn delivery_is_exclusive_and_never_repeated() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let long = Duration::from_secs(100);
        add_notice(&store, "a", 0, &notice(command())).unwrap();
        let (key, _) = list_waiting_notices(&store).unwrap().remove(0);
        let (lease, mut taken) = take_notice(&store, &key, "one", long)
            .unwrap()
            .expect("nobody has it");
        assert!(take_notice(&store, &key, "two", long).unwrap().is_none());
        taken.attempts += 1;
        put_back(&store, &lease, &taken).unwrap();
        let (lease, again) = take_notice(&store, &key, "two", long)
            .unwrap()
            .expect("it was put back");
        assert_eq!(again.attempts, 2);
        remove_notice(&store, &key).unwrap();
        assert!(store.release(&lease).unwrap());
        assert!(take_notice(&store, &key, "three", long).unwrap().is_none());
    }

    #[test]
    fn a_full_outbox_takes_no_more() -> Result<(), StoreError> {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir)?;
        for n in 0..FULL {
            assert!(add_notice(
                &store,
                &format!("{n:05}"),
                0,
                &notice(command())
            )?);
        }
        assert!(!add_notice(&store, "one more", 0, &notice(command()))?);
        Ok(())
    }
}
