//! The cap of an account: how many questions its machines may put to agents at a time. Each takes a slot before it is sent; a slot is a row
//! that ends by itself.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat, SqlValue};

const TAKE: &str = "SELECT taken, most, share FROM watchdog.take_slots($1, $2, $3, $4, $5)";

const GIVE_BACK: &str = "DELETE FROM watchdog.question_slot WHERE account = $1 AND id = ANY($2)";

const SET: &str = "INSERT INTO watchdog.account (name, max_parallel_questions) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET max_parallel_questions = excluded.max_parallel_questions, changed_at = clock_timestamp()";

/// What the server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenSlots {
    /// The slots that this machine has now, of those that it asked for.
    pub ids: Vec<String>,
    /// Questions that may run at a time on all machines of the account.
    pub most: u32,
    /// How many slots this machine may keep ready.
    pub share: u32,
}

/// Which slots a machine asks for.
#[derive(Debug, Clone, Copy)]
pub struct WantedSlots<'a> {
    /// The account.
    pub account: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// Their names: asking twice by the same name gives one slot, which then lasts longer.
    pub ids: &'a [String],
    /// How long they last.
    pub lasts: Duration,
    /// Whether they are kept ready for later questions: then the machine has no more than its part.
    pub to_keep: bool,
}

/// Sets the cap of an account, or removes it. What is under way goes on.
///
/// # Errors
/// Where the server cannot be used.
pub fn set_parallel_questions(
    server: &FleetServer,
    account: &str,
    most: Option<u32>,
) -> Result<(), FleetError> {
    let most = most.map(|most| i32::try_from(most).unwrap_or(i32::MAX));
    server.call(
        "set the cap of parallel questions",
        Repeat::Safe,
        async |call| {
            call.client
                .execute_typed(SET, &[(&account, Type::TEXT), (&most, Type::INT4)])
                .await
        },
    )?;
    Ok(())
}

/// Takes slots within `deadline`; `None` where the account has no cap. Fewer than wanted where not as many are free.
///
/// # Errors
/// Where the server cannot be used. A slot whose answer was lost ends by itself.
pub fn take_slots(
    server: &FleetServer,
    deadline: Duration,
    wanted: &WantedSlots<'_>,
) -> Result<Option<TakenSlots>, FleetError> {
    let WantedSlots {
        account,
        machine,
        ids,
        lasts,
        to_keep,
    } = wanted;
    let lasts = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
    let given = server.call_within(
        deadline,
        "take a slot for a question",
        Repeat::Safe,
        async |call| {
            let values: [SqlValue<'_>; 5] = [
                (account, Type::TEXT),
                (machine, Type::TEXT),
                (ids, Type::TEXT_ARRAY),
                (&lasts, Type::INT8),
                (to_keep, Type::BOOL),
            ];
            let row = call.client.query_typed_opt(TAKE, &values).await?;
            row.map(|row| {
                let number = |index: usize| {
                    row.try_get::<_, i32>(index)
                        .map(|found| u32::try_from(found).unwrap_or(0))
                };
                Ok(TakenSlots {
                    ids: row.try_get(0)?,
                    most: number(1)?,
                    share: number(2)?,
                })
            })
            .transpose()
        },
    )?;
    Ok(given)
}

/// Gives slots back.
///
/// # Errors
/// Where the server cannot be used. They end by themselves then.
pub fn give_slots_back(
    server: &FleetServer,
    deadline: Duration,
    account: &str,
    ids: &[String],
) -> Result<(), FleetError> {
    server.call_within(deadline, "give a slot back", Repeat::Safe, async |call| {
        call.client
            .execute_typed(
                GIVE_BACK,
                &[(&account, Type::TEXT), (&ids, Type::TEXT_ARRAY)],
            )
            .await
    })?;
    Ok(())
}
