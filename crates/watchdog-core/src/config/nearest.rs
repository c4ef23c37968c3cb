//! The known word nearest to one that is not known.

/// The nearest of `candidates`, and whether it is near enough to be a suggestion; `None` where `candidates`
/// is empty.
///
/// Ignores case and the differences between `maxProbes`, `max-probes` and `max_probes`.
pub fn find_nearest_word<'k>(
    word: &str,
    candidates: impl IntoIterator<Item = &'k str>,
) -> Option<(&'k str, bool)> {
    // Longer words cannot be near, and comparing costs the product of the lengths.
    let word = to_snake_words(&word.chars().take(100).collect::<String>());
    let (distance, best) = candidates
        .into_iter()
        .map(|candidate| {
            (
                measure_distance(&word, &to_snake_words(candidate)),
                candidate,
            )
        })
        .min_by_key(|(distance, _)| *distance)?;
    let allowed = word.chars().count().max(best.len()).div_ceil(3);
    Some((best, distance <= allowed))
}

/// The known words, the nearest first; words that are equally near stay in their order.
pub fn nearest_first<'k>(
    word: &str,
    candidates: impl IntoIterator<Item = &'k str>,
) -> Vec<&'k str> {
    let word = to_snake_words(&word.chars().take(100).collect::<String>());
    let mut sorted: Vec<&str> = candidates.into_iter().collect();
    sorted.sort_by_cached_key(|candidate| measure_distance(&word, &to_snake_words(candidate)));
    sorted
}

/// A hint that names the nearest word; empty where nothing is known.
pub fn format_nearest_hint<'k>(
    word: &str,
    candidates: impl IntoIterator<Item = &'k str>,
) -> String {
    match find_nearest_word(word, candidates) {
        Some((best, true)) => format!(", did you mean `{best}`?"),
        Some((best, false)) => format!(", the nearest known one is `{best}`"),
        None => String::new(),
    }
}

/// The known word that this one is a slip of: another case or spelling of the gaps, or one letter in five wrong. Stricter than
/// [`find_nearest_word`], for files in which other words are welcome.
pub fn find_misspelt_word<'k>(
    word: &str,
    candidates: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let word = to_snake_words(&word.chars().take(100).collect::<String>());
    candidates.into_iter().find(|candidate| {
        let snaked = to_snake_words(candidate);
        let slips = || strsim::damerau_levenshtein(&word, &snaked);
        word == snaked || snaked.len() > 3 && slips() <= snaked.len().div_ceil(5).min(2)
    })
}

fn measure_distance(a: &str, b: &str) -> usize {
    let edits = strsim::damerau_levenshtein(a, b);
    // `probes` for `max_probes`: a missing word is a smaller difference than its number of edits.
    let part = a.len() >= 4 && (b.ends_with(&format!("_{a}")) || b.starts_with(&format!("{a}_")));
    if part { edits.min(1) } else { edits }
}

fn to_snake_words(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    let mut after_lower = false;
    for c in word.chars() {
        if c.is_uppercase() && after_lower {
            out.push('_');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        if c == '-' || c == ' ' {
            out.push('_')
        } else {
            out.extend(c.to_lowercase())
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_named() {
        let keys = [
            "max_probes",
            "probe_interval_seconds",
            "probe_timeout_seconds",
            "final_rescue_attempt",
        ];
        for (word, expected) in [
            ("max_probse", ("max_probes", true)),
            ("maxProbes", ("max_probes", true)),
            ("MAX-PROBES", ("max_probes", true)),
            ("probes", ("max_probes", true)),
            ("probe_timeout", ("probe_timeout_seconds", true)),
            ("probe_intervall_seconds", ("probe_interval_seconds", true)),
            ("zzz", ("max_probes", false)),
            ("", ("max_probes", false)),
        ] {
            assert_eq!(find_nearest_word(word, keys), Some(expected), "{word}");
        }
        assert_eq!(find_nearest_word("x", []), None);
        assert_eq!(
            format_nearest_hint("max_probse", keys),
            ", did you mean `max_probes`?"
        );
        assert_eq!(
            format_nearest_hint("zzz", keys),
            ", the nearest known one is `max_probes`"
        );
    }

    #[test]
    fn known_words_are_sorted_by_similarity() {
        let keys = ["max_files", "protect", "max_bytes", "keep_days"];
        assert_eq!(
            nearest_first("maxByte", keys),
            ["max_bytes", "max_files", "protect", "keep_days"]
        );
        assert_eq!(nearest_first("", keys)[0], "protect");
    }

    #[test]
    fn word_gaps_match_in_any_notation() {
        for word in [
            "maxCostInUsd",
            "max-cost-in-usd",
            "max cost in usd",
            "MAX_COST_IN_USD",
        ] {
            assert_eq!(
                find_misspelt_word(word, ["max_cost_in_usd"]),
                Some("max_cost_in_usd"),
                "{word}"
            );
        }
        assert_eq!(
            find_misspelt_word("step1Of2Or3Of4", ["step1_of2_or3_of4"]),
            Some("step1_of2_or3_of4")
        );
        assert_eq!(
            find_misspelt_word("dit", ["dir"]),
            None,
            "a word of three letters has too many neighbours"
        );
        assert_eq!(find_misspelt_word("DIR", ["dir"]), Some("dir"));
    }

    #[test]
    fn misspelling_is_distinguished_from_other_words() {
        let keys = ["id", "title", "role", "depends_on", "status", "checks"];
        for (word, meant) in [
            ("dependsOn", Some("depends_on")),
            ("depend_on", Some("depends_on")),
            ("depends-on", Some("depends_on")),
            ("ID", Some("id")),
            ("titel", Some("title")),
            ("rol", Some("role")),
            ("check", Some("checks")),
            ("note", None),
            ("time", None),
            ("date", None),
            ("phase", None),
            ("estimate", None),
            ("state", Some("status")),
            ("pid", None),
        ] {
            assert_eq!(find_misspelt_word(word, keys), meant, "{word}");
        }
    }
}
