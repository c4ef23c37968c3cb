//! Adds up the usage of a session, from messages as they arrive and from the more precise results.
//!
//! A message is printed several times (once per part of it) and counts once. Messages report a lower bound: Claude Code prints them before
//! their last token is written. A result reports the total.

use std::collections::VecDeque;

use watchdog_facts::context::SessionUsage;

/// Messages that are remembered by name, to count each once. They repeat at once or soon.
const MESSAGES: usize = 256;

/// Tokens of a message, a run or a whole session, as its program counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Read by the model, cached ones included.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

impl TokenCounts {
    /// Returns the tokens spent beyond an earlier total. A total below it is a new count.
    pub fn beyond(self, earlier: TokenCounts) -> TokenCounts {
        let began_again = self.input < earlier.input || self.output < earlier.output;
        let earlier = if began_again {
            TokenCounts::default()
        } else {
            earlier
        };
        TokenCounts {
            input: self.input - earlier.input,
            output: self.output - earlier.output,
        }
    }

    fn plus(self, more: TokenCounts) -> TokenCounts {
        TokenCounts {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
        }
    }

    fn or_more(self, other_counts: TokenCounts) -> TokenCounts {
        TokenCounts {
            input: self.input.max(other_counts.input),
            output: self.output.max(other_counts.output),
        }
    }

    fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// The usage of the turns since the previous result.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResultUsage {
    /// Turns since the result before.
    pub turns: Option<u64>,
    /// Tokens since the result before, of the main agent.
    pub tokens: Option<TokenCounts>,
    /// Tokens since the result before, of all models.
    pub tokens_of_all: Option<TokenCounts>,
    /// US dollars since the result before.
    pub cost: Option<f64>,
    /// Tokens of the session, earlier runs of it included.
    pub session_tokens: Option<TokenCounts>,
    /// US dollars of the session, earlier runs of it included where the program counts so.
    pub session_cost: Option<f64>,
}

/// The sums.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageSums {
    turns: Option<u64>,
    turns_under_way: u64,
    tokens: Option<TokenCounts>,
    messages: VecDeque<(String, TokenCounts)>,
    forgotten: TokenCounts,
    cost: Option<f64>,
    session_cost: Option<f64>,
    session_tokens: Option<TokenCounts>,
    /// Tokens of the session where its program reports no others, and those that it had before this run.
    so_far: Option<TokenCounts>,
    earlier: TokenCounts,
    /// Some result reported a cost of the session that includes earlier runs.
    mixed_cost: bool,
}

impl UsageSums {
    /// A message of the agent, or of one that works for it, as far as it is written.
    pub fn message(&mut self, id: &str, tokens: Option<TokenCounts>, main: bool) {
        let counted_message = self
            .messages
            .iter_mut()
            .rev()
            .find(|(known, _)| known == id);
        match counted_message {
            Some((_, most)) => *most = most.or_more(tokens.unwrap_or_default()),
            None => {
                if self.messages.len() == MESSAGES
                    && let Some((_, old)) = self.messages.pop_front()
                {
                    self.forgotten = self.forgotten.plus(old);
                }
                self.messages
                    .push_back((id.to_owned(), tokens.unwrap_or_default()));
                if main {
                    self.turn();
                }
            }
        }
        if tokens.is_some() {
            self.tokens.get_or_insert_default();
        }
    }

    /// A turn began that no message reports.
    pub fn turn(&mut self) {
        self.turns_under_way += 1;
        self.turns.get_or_insert_default();
    }

    /// Tokens of one step, told once.
    pub fn step(&mut self, tokens: TokenCounts, cost: Option<f64>) {
        self.tokens = Some(self.tokens.unwrap_or_default().plus(tokens));
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// Tokens of the session so far, told again and again: earlier runs of it and the messages of this one included.
    pub fn so_far(&mut self, tokens: TokenCounts) {
        self.so_far = Some(self.so_far.unwrap_or_default().or_more(tokens));
        (self.messages, self.forgotten, self.tokens) =
            (VecDeque::new(), TokenCounts::default(), None);
    }

    /// The session had spent this before this run.
    pub fn continues(&mut self, earlier: TokenCounts) {
        self.earlier = earlier;
    }

    /// A result told its turns, and no usage of its own: messages may be more than turns.
    pub fn settle_turns(&mut self, turns: Option<u64>) {
        let counted = std::mem::take(&mut self.turns_under_way);
        self.settle(&ResultUsage {
            turns: turns.or(self.turns.map(|_| counted)),
            ..ResultUsage::default()
        });
    }

    /// Tokens of the session, earlier runs of it included, where its program reports those.
    pub fn session_total(&self) -> Option<TokenCounts> {
        self.so_far
    }

    /// The part of [`session_total`](Self::session_total) that this run spent. A total below the earlier one is a new count.
    fn own_part(&self) -> Option<TokenCounts> {
        let total = self.so_far?;
        let began_again = total.input < self.earlier.input || total.output < self.earlier.output;
        Some(if began_again {
            total
        } else {
            TokenCounts {
                input: total.input - self.earlier.input,
                output: total.output - self.earlier.output,
            }
        })
    }

    /// A result: settles the pending usage.
    pub fn settle(&mut self, reported: &ResultUsage) {
        let seen = self.under_way();
        let under_way = seen
            .or_more(reported.tokens.unwrap_or_default())
            .or_more(reported.tokens_of_all.unwrap_or_default());
        if self.tokens.is_some() || reported.tokens.or(reported.tokens_of_all).is_some() {
            self.tokens = Some(self.tokens.unwrap_or_default().plus(under_way));
        }
        if let Some(turns) = reported
            .turns
            .map(|turns| turns.max(self.turns_under_way))
            .or(self.turns.map(|_| self.turns_under_way))
        {
            self.turns = Some(self.turns.unwrap_or_default().saturating_add(turns));
        }
        (self.messages, self.forgotten, self.turns_under_way) =
            (VecDeque::new(), TokenCounts::default(), 0);
        self.settle_cost(reported);
    }

    fn settle_cost(&mut self, reported: &ResultUsage) {
        self.session_cost = reported.session_cost.or(self.session_cost);
        self.session_tokens = reported.session_tokens.or(self.session_tokens);
        match (reported.cost, reported.session_cost) {
            (Some(cost), _) => self.cost = Some(self.cost.unwrap_or_default() + cost),
            (None, None) => {}
            (None, Some(whole)) => {
                let own = self.tokens.map(TokenCounts::total);
                self.cost = match (own, reported.session_tokens) {
                    // Resumed, and then refused before anything was paid.
                    (Some(0), Some(_)) => Some(0.0),
                    // It includes an earlier run, or another model. The report does not say which.
                    (Some(own), Some(session)) if session.total() > own => {
                        self.mixed_cost = true;
                        self.cost
                    }
                    _ => Some(whole),
                };
            }
        }
    }

    fn under_way(&self) -> TokenCounts {
        self.messages
            .iter()
            .fold(self.forgotten, |sum, (_, tokens)| sum.plus(*tokens))
    }

    /// The known usage of this run of the session; the session's total cost if this run's is not separate.
    pub fn usage(&self) -> SessionUsage {
        let counted = self.tokens.map(|tokens| tokens.plus(self.under_way()));
        let tokens = match (counted, self.own_part()) {
            (Some(counted), Some(own)) => Some(counted.plus(own)),
            (counted, own) => counted.or(own),
        };
        SessionUsage {
            turns: self
                .turns
                .map(|turns| turns.saturating_add(self.turns_under_way)),
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cost_usd: if self.mixed_cost {
                self.session_cost
            } else {
                self.cost
            },
            wall_seconds: None,
        }
    }

    /// The session's usage by the program's last report; for a reader of only a part of its events.
    pub fn reported_usage(&self) -> SessionUsage {
        let tokens = self.session_tokens;
        SessionUsage {
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cost_usd: self.session_cost,
            ..SessionUsage::default()
        }
    }

    /// US dollars of the session, earlier runs of it included.
    pub fn session_cost(&self) -> Option<f64> {
        self.session_cost
    }

    /// Whether [`usage`](Self::usage) has the session's cost for lack of this run's own.
    pub fn cost_is_of_the_session(&self) -> bool {
        self.mixed_cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> TokenCounts {
        TokenCounts { input, output }
    }

    fn sums(figures: &UsageSums) -> (Option<u64>, Option<u64>, Option<u64>, Option<f64>) {
        let usage = figures.usage();
        (
            usage.turns,
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_usd,
        )
    }

    #[test]
    fn repeated_message_counts_only_once() {
        let mut figures = UsageSums::default();
        assert_eq!(sums(&figures), (None, None, None, None));
        for (id, output) in [("a", 1), ("a", 1), ("b", 1), ("a", 1), ("b", 9)] {
            figures.message(id, Some(tokens(10, output)), true);
        }
        figures.message("helper", Some(tokens(5, 5)), false);
        assert_eq!(sums(&figures), (Some(2), Some(25), Some(15), None));
    }

    #[test]
    fn result_corrects_message_sums_only_upwards() {
        let mut figures = UsageSums::default();
        figures.message("a", Some(tokens(10, 1)), true);
        figures.settle(&ResultUsage {
            turns: Some(2),
            tokens: Some(tokens(10, 40)),
            session_cost: Some(0.5),
            ..ResultUsage::default()
        });
        assert_eq!(sums(&figures), (Some(2), Some(10), Some(40), Some(0.5)));
        figures.message("b", Some(tokens(7, 1)), true);
        assert_eq!(sums(&figures), (Some(3), Some(17), Some(41), Some(0.5)));
        // A budget of the program's own: the result omits the paid tokens.
        figures.settle(&ResultUsage {
            turns: Some(1),
            tokens: Some(TokenCounts::default()),
            session_cost: Some(0.7),
            ..ResultUsage::default()
        });
        assert_eq!(sums(&figures), (Some(3), Some(17), Some(41), Some(0.7)));
    }

    #[test]
    fn earlier_run_cost_is_separated_where_possible() {
        let mut resumed = UsageSums::default();
        let reported = ResultUsage {
            tokens: Some(tokens(100, 50)),
            session_tokens: Some(tokens(200, 100)),
            session_cost: Some(0.28),
            ..ResultUsage::default()
        };
        resumed.settle(&ResultUsage {
            cost: Some(0.14),
            tokens_of_all: Some(tokens(100, 50)),
            ..reported
        });
        assert_eq!(
            (
                resumed.usage().cost_usd,
                resumed.session_cost(),
                resumed.cost_is_of_the_session()
            ),
            (Some(0.14), Some(0.28), false)
        );
        let mut unclear = UsageSums::default();
        unclear.settle(&reported);
        assert_eq!(
            (unclear.usage().cost_usd, unclear.cost_is_of_the_session()),
            (Some(0.28), true)
        );
        let mut refused = UsageSums::default();
        refused.settle(&ResultUsage {
            tokens: Some(TokenCounts::default()),
            ..reported
        });
        assert_eq!(
            (refused.usage().cost_usd, refused.session_cost()),
            (Some(0.0), Some(0.28))
        );
        let mut untold = UsageSums::default();
        untold.settle(&ResultUsage {
            session_cost: Some(0.28),
            ..ResultUsage::default()
        });
        assert_eq!(untold.usage().cost_usd, Some(0.28));
    }

    #[test]
    fn many_messages_need_little_memory_and_all_count() {
        let mut figures = UsageSums::default();
        for at in 0..10_000 {
            figures.message(&at.to_string(), Some(tokens(1, 2)), true);
        }
        assert_eq!(
            sums(&figures),
            (Some(10_000), Some(10_000), Some(20_000), None)
        );
        assert!(figures.messages.len() <= MESSAGES);
    }
}
