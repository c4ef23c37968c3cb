//! Adds up what a session spends, from messages as they come and from results that know better.
//!
//! A message is printed several times (once per part of it) and counts once. What messages tell is at least so much: Claude Code prints
//! them before their last token is written. A result tells the whole.

use std::collections::VecDeque;

use crate::decision::context::Usage;

/// Messages that are remembered by name, to count each once. They repeat at once or soon.
const MESSAGES: usize = 256;

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Read by the model, cached ones included.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

impl Tokens {
    fn plus(self, more: Tokens) -> Tokens {
        Tokens { input: self.input.saturating_add(more.input), output: self.output.saturating_add(more.output) }
    }

    fn or_more(self, other: Tokens) -> Tokens {
        Tokens { input: self.input.max(other.input), output: self.output.max(other.output) }
    }

    fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What a result tells of the turns since the one before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    /// Turns since the result before.
    pub turns: Option<u64>,
    /// Tokens since the result before, of the main agent.
    pub tokens: Option<Tokens>,
    /// Tokens since the result before, of all models.
    pub tokens_of_all: Option<Tokens>,
    /// US dollars since the result before.
    pub cost: Option<f64>,
    /// Tokens of the session, earlier runs of it included.
    pub session_tokens: Option<Tokens>,
    /// US dollars of the session, earlier runs of it included where the program counts so.
    pub session_cost: Option<f64>,
}

/// The sums.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    turns: Option<u64>,
    turns_under_way: u64,
    tokens: Option<Tokens>,
    messages: VecDeque<(String, Tokens)>,
    forgotten: Tokens,
    cost: Option<f64>,
    session_cost: Option<f64>,
    session_tokens: Option<Tokens>,
    /// Some result told a cost of the session that cannot be told apart from that of earlier runs.
    mixed_cost: bool,
}

impl Figures {
    /// A message of the agent, or of one that works for it, as far as it is written.
    pub fn message(&mut self, id: &str, tokens: Option<Tokens>, main: bool) {
        let known = self.messages.iter_mut().rev().find(|(known, _)| known == id);
        match known {
            Some((_, most)) => *most = most.or_more(tokens.unwrap_or_default()),
            None => {
                if self.messages.len() == MESSAGES
                    && let Some((_, old)) = self.messages.pop_front()
                {
                    self.forgotten = self.forgotten.plus(old);
                }
                self.messages.push_back((id.to_owned(), tokens.unwrap_or_default()));
                if main {
                    self.turn();
                }
            }
        }
        if tokens.is_some() {
            self.tokens.get_or_insert_default();
        }
    }

    /// A turn began that no message tells of.
    pub fn turn(&mut self) {
        self.turns_under_way += 1;
        self.turns.get_or_insert_default();
    }

    /// Tokens of one step, told once.
    pub fn step(&mut self, tokens: Tokens, cost: Option<f64>) {
        self.tokens = Some(self.tokens.unwrap_or_default().plus(tokens));
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// Tokens of the whole so far, told again and again.
    pub fn so_far(&mut self, tokens: Tokens) {
        self.tokens = Some(self.tokens.unwrap_or_default().or_more(tokens));
    }

    /// A result: what was under way is settled.
    pub fn settle(&mut self, told: &Settled) {
        let seen = self.under_way();
        let under_way = seen.or_more(told.tokens.unwrap_or_default()).or_more(told.tokens_of_all.unwrap_or_default());
        if self.tokens.is_some() || told.tokens.or(told.tokens_of_all).is_some() {
            self.tokens = Some(self.tokens.unwrap_or_default().plus(under_way));
        }
        if let Some(turns) = told.turns.map(|turns| turns.max(self.turns_under_way)).or(self.turns.map(|_| self.turns_under_way)) {
            self.turns = Some(self.turns.unwrap_or_default().saturating_add(turns));
        }
        (self.messages, self.forgotten, self.turns_under_way) = (VecDeque::new(), Tokens::default(), 0);
        self.settle_cost(told);
    }

    fn settle_cost(&mut self, told: &Settled) {
        self.session_cost = told.session_cost.or(self.session_cost);
        self.session_tokens = told.session_tokens.or(self.session_tokens);
        match (told.cost, told.session_cost) {
            (Some(cost), _) => self.cost = Some(self.cost.unwrap_or_default() + cost),
            (None, None) => {}
            (None, Some(whole)) => {
                let own = self.tokens.map(Tokens::total);
                self.cost = match (own, told.session_tokens) {
                    // Resumed, and then refused before anything was paid.
                    (Some(0), Some(_)) => Some(0.0),
                    // An earlier run is in there, or another model beside. Which, nobody says.
                    (Some(own), Some(session)) if session.total() > own => {
                        self.mixed_cost = true;
                        self.cost
                    }
                    _ => Some(whole),
                };
            }
        }
    }

    fn under_way(&self) -> Tokens {
        self.messages.iter().fold(self.forgotten, |sum, (_, tokens)| sum.plus(*tokens))
    }

    /// What is known to have been spent by this run of the session; the session's whole cost where this run's is not told apart.
    pub fn usage(&self) -> Usage {
        let tokens = self.tokens.map(|tokens| tokens.plus(self.under_way()));
        Usage {
            turns: self.turns.map(|turns| turns.saturating_add(self.turns_under_way)),
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cost_usd: if self.mixed_cost { self.session_cost } else { self.cost },
            wall_seconds: None,
        }
    }

    /// What the session spent as the program last told it; for where only a part of its events was read.
    pub fn usage_as_told(&self) -> Usage {
        let tokens = self.session_tokens;
        Usage {
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cost_usd: self.session_cost,
            ..Usage::default()
        }
    }

    /// US dollars of the session, earlier runs of it included.
    pub fn session_cost(&self) -> Option<f64> {
        self.session_cost
    }

    /// Whether [`usage`](Self::usage) tells the session's cost for lack of this run's own.
    pub fn cost_is_of_the_session(&self) -> bool {
        self.mixed_cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input, output }
    }

    fn sums(figures: &Figures) -> (Option<u64>, Option<u64>, Option<u64>, Option<f64>) {
        let usage = figures.usage();
        (usage.turns, usage.input_tokens, usage.output_tokens, usage.cost_usd)
    }

    #[test]
    fn a_message_counts_once_however_often_it_is_printed() {
        let mut figures = Figures::default();
        assert_eq!(sums(&figures), (None, None, None, None));
        for (id, output) in [("a", 1), ("a", 1), ("b", 1), ("a", 1), ("b", 9)] {
            figures.message(id, Some(tokens(10, output)), true);
        }
        figures.message("helper", Some(tokens(5, 5)), false);
        assert_eq!(sums(&figures), (Some(2), Some(25), Some(15), None));
    }

    #[test]
    fn a_result_knows_better_than_its_messages_but_never_less() {
        let mut figures = Figures::default();
        figures.message("a", Some(tokens(10, 1)), true);
        figures.settle(&Settled { turns: Some(2), tokens: Some(tokens(10, 40)), session_cost: Some(0.5), ..Settled::default() });
        assert_eq!(sums(&figures), (Some(2), Some(10), Some(40), Some(0.5)));
        figures.message("b", Some(tokens(7, 1)), true);
        assert_eq!(sums(&figures), (Some(3), Some(17), Some(41), Some(0.5)));
        // A budget of the program's own: the result forgets what was paid.
        figures.settle(&Settled { turns: Some(1), tokens: Some(Tokens::default()), session_cost: Some(0.7), ..Settled::default() });
        assert_eq!(sums(&figures), (Some(3), Some(17), Some(41), Some(0.7)));
    }

    #[test]
    fn the_cost_of_earlier_runs_is_told_apart_where_that_is_possible() {
        let mut resumed = Figures::default();
        let told = Settled {
            tokens: Some(tokens(100, 50)),
            session_tokens: Some(tokens(200, 100)),
            session_cost: Some(0.28),
            ..Settled::default()
        };
        resumed.settle(&Settled { cost: Some(0.14), tokens_of_all: Some(tokens(100, 50)), ..told });
        assert_eq!((resumed.usage().cost_usd, resumed.session_cost(), resumed.cost_is_of_the_session()), (Some(0.14), Some(0.28), false));
        let mut unclear = Figures::default();
        unclear.settle(&told);
        assert_eq!((unclear.usage().cost_usd, unclear.cost_is_of_the_session()), (Some(0.28), true));
        let mut refused = Figures::default();
        refused.settle(&Settled { tokens: Some(Tokens::default()), ..told });
        assert_eq!((refused.usage().cost_usd, refused.session_cost()), (Some(0.0), Some(0.28)));
        let mut untold = Figures::default();
        untold.settle(&Settled { session_cost: Some(0.28), ..Settled::default() });
        assert_eq!(untold.usage().cost_usd, Some(0.28));
    }

    #[test]
    fn many_messages_need_little_memory_and_are_all_counted() {
        let mut figures = Figures::default();
        for at in 0..10_000 {
            figures.message(&at.to_string(), Some(tokens(1, 2)), true);
        }
        assert_eq!(sums(&figures), (Some(10_000), Some(10_000), Some(20_000), None));
        assert!(figures.messages.len() <= MESSAGES);
    }
}
