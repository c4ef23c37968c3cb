//! What is assumed of sessions: `rates.json`, read strictly.

use std::collections::BTreeMap;

use serde_json::Value;

/// The file's text, built in so that the program needs no path.
const FILE: &str = include_str!("../rates.json");

macro_rules! rates {
    ($($name:ident),* $(,)?) => {
        /// The assumed rates; each is explained in `rates.json`.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Rates { $(pub $name: f64,)* }

        impl Rates {
            /// The names, in the order of the file.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            fn from(values: &BTreeMap<String, f64>) -> Result<Rates, String> {
                Ok(Rates { $($name: *values.get(stringify!($name)).ok_or(concat!("rates.json has no ", stringify!($name)))?,)* })
            }

            /// Sets one of them: `RATE=VALUE`.
            pub fn set(&mut self, words: &str) -> Result<(), String> {
                let (name, value) = words.split_once('=').ok_or(format!("{words}: should be RATE=VALUE"))?;
                let value = value.parse::<f64>().ok().filter(|value| *value >= 0.0).ok_or(format!("{words}: {value} is no rate"))?;
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return Err(format!("nothing is called {name}; there are: {}", Rates::NAMES.join(", "))),
                }
                Ok(())
            }

            /// One of them by its name; `NaN` where nothing is called so.
            pub fn value(&self, name: &str) -> f64 {
                $(if name == stringify!($name) {
                    return self.$name;
                })*
                f64::NAN
            }

            /// The rates with one of them multiplied. A probability stays one.
            pub fn scaled(&self, name: &str, factor: f64) -> Rates {
                let mut rates = self.clone();
                $(if name == stringify!($name) {
                    let at_most = if self.$name < 1.0 { 1.0 } else { f64::INFINITY };
                    rates.$name = (self.$name * factor).min(at_most);
                })*
                rates
            }
        }
    };
}

rates! {
    commits_at_once, background_work, slow_work, forgotten_commits, nothing_to_do, real_stalls, usage_limits, outages,
    same_again, probe_faults, background_elsewhere, waits_uncommitted, claims_to_work, leftovers, next_discards, reset_unknown,
    commit_refused, rescue_agent_fails, rescue_agent_discards, stalls_hang,
    session_minutes, background_minutes, slow_minutes, limit_minutes, outage_minutes, person_minutes, probe_seconds,
}

impl Rates {
    /// The rates of `rates.json`. Every figure must come with its reason.
    pub fn read() -> Result<Rates, String> {
        let file: BTreeMap<String, Value> =
            serde_json::from_str(FILE).map_err(|error| format!("rates.json: {error}"))?;
        let mut values = BTreeMap::new();
        for (name, entry) in file.iter().filter(|(name, _)| *name != "about") {
            if !Rates::NAMES.contains(&name.as_str()) {
                return Err(format!("rates.json: nothing is called {name}"));
            }
            let value = entry["value"]
                .as_f64()
                .filter(|value| *value >= 0.0)
                .ok_or(format!("rates.json: {name} needs a value"))?;
            entry["why"]
                .as_str()
                .filter(|why| !why.is_empty())
                .ok_or(format!("rates.json: {name} needs its reason"))?;
            values.insert(name.clone(), value);
        }
        Rates::from(&values)
    }
}
