//! How many questions may be put to agents at a time, and who has a slot for one: of this machine alone, or of an account whose machines
//! share a cap. A slot is a lease with an end, so that a process that is killed gives it back.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::row::{self, SingleVersionRecord};
use crate::engine::LocalStore;
use crate::error::StoreError;
use crate::key::RowKey;

/// A slot that was taken so much later than now was taken before the clock was set back: its end says nothing.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// Whose cap it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapScope {
    /// The account's, which this machine shares with others: the server gives its slots.
    Shared,
    /// This machine's alone.
    Own,
}

/// A cap with the slots that this machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionCap {
    /// The account; empty where it is this machine's alone.
    pub account: String,
    /// Questions that may run at a time, on all machines together; `None` = there is no cap any more.
    pub most: Option<u32>,
    /// How many slots of the account this machine may keep ready.
    pub share: u32,
    /// The slots that it has.
    pub slots: Vec<CapSlot>,
}

/// The right to one question at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapSlot {
    /// Names it, on the server as well.
    pub id: String,
    /// Its end, by this machine's clock.
    pub until: Timestamp,
    /// The question that has it; `None` = it is kept ready.
    pub taken: Option<TakenSlot>,
}

/// A question that has a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenSlot {
    /// Names the question.
    pub by: String,
    /// When it began.
    pub at: Timestamp,
    /// When it has ended at the latest.
    pub until: Timestamp,
}

impl SingleVersionRecord for QuestionCap {
    const NAME: &'static str = "question_cap";
}

impl TakenSlot {
    fn lasts(&self, now: Timestamp) -> bool {
        now < self.until && self.at.duration_since(now) < CLOCK_TOLERANCE
    }
}

/// What came of asking for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotOutcome {
    /// There is no cap.
    NoCap,
    /// The question has this slot.
    Taken {
        /// Names it.
        id: String,
    },
    /// Every slot of this machine is taken.
    Full(QuestionCap),
}

impl QuestionCap {
    /// How many questions of this machine have a slot now.
    pub fn under_way(&self, now: Timestamp) -> usize {
        self.slots
            .iter()
            .filter(|slot| slot.taken.as_ref().is_some_and(|taken| taken.lasts(now)))
            .count()
    }

    /// The slots that are kept ready for the next questions.
    pub fn ready(&self, now: Timestamp) -> impl Iterator<Item = &CapSlot> {
        self.slots.iter().filter(move |slot| {
            now < slot.until && slot.taken.as_ref().is_none_or(|taken| !taken.lasts(now))
        })
    }

    /// The names of the slots that this machine would keep ready, where the server has to be asked for it: it has fewer or more than its part,
    /// or one ends before `soon`.
    pub fn to_keep(
        &self,
        soon: Timestamp,
        now: Timestamp,
        new_name: impl FnMut() -> String,
    ) -> Option<Vec<String>> {
        let mut names: Vec<String> = self.ready(now).map(|slot| slot.id.clone()).collect();
        let is_ready = |slot: &CapSlot| {
            slot.taken
                .as_ref()
                .is_some_and(|taken| taken.lasts(now) && taken.by != slot.id)
        };
        let in_use = self.slots.iter().filter(|slot| is_ready(slot)).count();
        let part = usize::try_from(self.share)
            .unwrap_or(usize::MAX)
            .saturating_sub(in_use);
        if names.len() == part && self.ready(now).all(|slot| soon <= slot.until) {
            return None;
        }
        names.resize_with(part, new_name);
        Some(names)
    }

    /// Frees the slots of questions that have ended, and drops those that are over.
    fn tidy(&mut self, now: Timestamp) {
        for slot in &mut self.slots {
            slot.taken.take_if(|taken| !taken.lasts(now));
        }
        // One that is not shared lasts as long as its question.
        let is_own = self.account.is_empty();
        self.slots
            .retain(|slot| slot.taken.is_some() || !is_own && now < slot.until);
    }

    fn take(&mut self, question: &str, lasts: Duration, now: Timestamp) -> SlotOutcome {
        let Some(most) = self.most else {
            return SlotOutcome::NoCap;
        };
        self.tidy(now);
        let until = now.saturating_add(lasts).unwrap_or(Timestamp::MAX);
        let taken = Some(TakenSlot {
            by: question.to_owned(),
            at: now,
            until,
        });
        if self.account.is_empty() && self.slots.len() < usize::try_from(most).unwrap_or(usize::MAX)
        {
            self.slots.push(CapSlot {
                id: question.to_owned(),
                until,
                taken,
            });
            return SlotOutcome::Taken {
                id: question.to_owned(),
            };
        }
        match self
            .slots
            .iter_mut()
            .find(|slot| slot.taken.is_none() && until <= slot.until)
        {
            Some(slot) => {
                slot.taken = taken;
                SlotOutcome::Taken {
                    id: slot.id.clone(),
                }
            }
            None => SlotOutcome::Full(self.clone()),
        }
    }

    /// The question ended. Returns the slot where this machine keeps it no longer.
    fn give_back(&mut self, question: &str, now: Timestamp) -> Option<String> {
        let of_question = |slot: &CapSlot| {
            slot.taken
                .as_ref()
                .is_some_and(|taken| taken.by == question)
        };
        let index = self.slots.iter().position(of_question)?;
        // One that was taken for this question alone ends with it.
        let is_for_many =
            |slot: &&CapSlot| slot.taken.as_ref().is_none_or(|taken| taken.by != slot.id);
        let kept = self.slots.iter().filter(is_for_many).count();
        let is_kept = kept <= usize::try_from(self.share).unwrap_or(usize::MAX)
            && now < self.slots[index].until;
        if is_kept && is_for_many(&&self.slots[index]) {
            self.slots[index].taken = None;
            return None;
        }
        Some(self.slots.remove(index).id)
    }

    /// The server keeps these slots ready for this machine; those that are neither among them nor taken go. Returns what went.
    fn keep(&mut self, kept: &[String], until: Timestamp, now: Timestamp) -> Vec<String> {
        self.tidy(now);
        let (stays, gone): (Vec<_>, Vec<_>) = self
            .slots
            .drain(..)
            .partition(|slot| slot.taken.is_some() || kept.contains(&slot.id));
        self.slots = stays;
        for id in kept {
            match self.slots.iter_mut().find(|slot| slot.id == *id) {
                Some(slot) => slot.until = until,
                None => self.slots.push(CapSlot {
                    id: id.clone(),
                    until,
                    taken: None,
                }),
            }
        }
        gone.into_iter().map(|slot| slot.id).collect()
    }

    /// The slots that are kept ready go. Returns their names.
    fn give_up_ready(&mut self, now: Timestamp) -> Vec<String> {
        self.tidy(now);
        let (taken, ready): (Vec<_>, Vec<_>) =
            self.slots.drain(..).partition(|slot| slot.taken.is_some());
        self.slots = taken;
        ready.into_iter().map(|slot| slot.id).collect()
    }
}

fn key(scope: CapScope) -> RowKey {
    let name = match scope {
        CapScope::Shared => "shared",
        CapScope::Own => "own",
    };
    RowKey::new(QuestionCap::NAME, &[name])
}

/// The cap of this scope; `None` where it has none.
///
/// # Errors
/// Where it cannot be read.
pub fn of(store: &dyn LocalStore, scope: CapScope) -> Result<Option<QuestionCap>, StoreError> {
    Ok(row::load(store, &key(scope))?.filter(|cap: &QuestionCap| cap.most.is_some()))
}

/// The cap that holds the questions of this machine: that of its account, else its own.
///
/// # Errors
/// Where it cannot be read.
pub fn in_force(store: &dyn LocalStore) -> Result<Option<(CapScope, QuestionCap)>, StoreError> {
    for scope in [CapScope::Shared, CapScope::Own] {
        if let Some(cap) = of(store, scope)? {
            return Ok(Some((scope, cap)));
        }
    }
    Ok(None)
}

/// What is known of a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapTerms {
    /// Questions that may run at a time.
    pub most: u32,
    /// Slots that this machine may keep ready.
    pub share: u32,
}

/// This machine alone has this cap, or none.
///
/// # Errors
/// Where it cannot be written.
pub fn set_own(store: &dyn LocalStore, most: Option<u32>) -> Result<(), StoreError> {
    terms(
        store,
        CapScope::Own,
        "",
        most.map(|most| CapTerms { most, share: 0 }),
    )
}

/// The account that this machine shares has this cap, or none.
///
/// # Errors
/// Where it cannot be written.
pub fn set_shared(
    store: &dyn LocalStore,
    account: &str,
    known: Option<CapTerms>,
) -> Result<(), StoreError> {
    terms(store, CapScope::Shared, account, known)
}

fn terms(
    store: &dyn LocalStore,
    scope: CapScope,
    account: &str,
    known: Option<CapTerms>,
) -> Result<(), StoreError> {
    // No row is made where there was never a cap, and none is removed: a question that is under way still has its slot in it.
    if known.is_none() && of(store, scope)?.is_none() {
        return Ok(());
    }
    row::update(store, &key(scope), |found: Option<QuestionCap>| {
        let kept = found
            .filter(|found| known.is_none() || found.account == account)
            .unwrap_or_default();
        let account = if known.is_some() {
            account.to_owned()
        } else {
            kept.account
        };
        let (most, share) = (
            known.map(|known| known.most),
            known.map_or(0, |known| known.share),
        );
        (
            QuestionCap {
                account,
                most,
                share,
                slots: kept.slots,
            },
            (),
        )
    })
}

fn change<T>(
    store: &dyn LocalStore,
    scope: CapScope,
    how: impl Fn(&mut QuestionCap) -> T,
) -> Result<Option<T>, StoreError> {
    if row::load::<QuestionCap>(store, &key(scope))?.is_none() {
        return Ok(None);
    }
    row::update(store, &key(scope), |found: Option<QuestionCap>| {
        let mut cap = found.unwrap_or_default();
        let done = how(&mut cap);
        (cap, Some(done))
    })
}

/// Takes a slot of this machine for a question that has ended within `lasts`.
///
/// # Errors
/// Where it cannot be written.
pub fn take(
    store: &dyn LocalStore,
    scope: CapScope,
    question: &str,
    lasts: Duration,
    now: Timestamp,
) -> Result<SlotOutcome, StoreError> {
    Ok(change(store, scope, |cap| cap.take(question, lasts, now))?.unwrap_or(SlotOutcome::NoCap))
}

/// The server gave a slot for this question, under its name.
///
/// # Errors
/// Where it cannot be written.
pub fn given(
    store: &dyn LocalStore,
    question: &str,
    lasts: Duration,
    now: Timestamp,
) -> Result<(), StoreError> {
    let until = now.saturating_add(lasts).unwrap_or(Timestamp::MAX);
    change(store, CapScope::Shared, |cap| {
        let taken = TakenSlot {
            by: question.to_owned(),
            at: now,
            until,
        };
        cap.slots.push(CapSlot {
            id: question.to_owned(),
            until,
            taken: Some(taken),
        });
    })
    .map(drop)
}

/// The question ended. Returns the slot where it is the server's again.
///
/// # Errors
/// Where it cannot be written; it ends by itself then.
pub fn give_back(
    store: &dyn LocalStore,
    scope: CapScope,
    question: &str,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    Ok(change(store, scope, |cap| cap.give_back(question, now))?.flatten())
}

/// This machine keeps no slot ready any more. Returns the account of those that it kept, and their names: they are the server's again. One that a
/// question has goes with it.
///
/// # Errors
/// Where it cannot be written.
pub fn give_up_ready(
    store: &dyn LocalStore,
    now: Timestamp,
) -> Result<Option<(String, Vec<String>)>, StoreError> {
    let known = row::load::<QuestionCap>(store, &key(CapScope::Shared))?;
    if known.is_none_or(|cap| cap.ready(now).next().is_none()) {
        return Ok(None);
    }
    change(store, CapScope::Shared, |cap| {
        (cap.account.clone(), cap.give_up_ready(now))
    })
}

/// The server keeps these slots ready for this machine until then. Returns those that are the server's again.
///
/// # Errors
/// Where it cannot be written.
pub fn keep_ready(
    store: &dyn LocalStore,
    kept: &[String],
    until: Timestamp,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    Ok(change(store, CapScope::Shared, |cap| cap.keep(kept, until, now))?.unwrap_or_default())
}

#[cfg(test)]
#[path = "question_cap_tests.rs"]
mod tests;
