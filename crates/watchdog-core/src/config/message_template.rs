//! The form of a notification at an address: one of the ready ones, or the user's own text with placeholders.
//!
//! `{name}` is a value, and `{{name}}` the text `{name}` itself; every other brace stays as it is, so that a template may be JSON.
//! Values are inserted once and never parsed again: text of an agent or a program cannot name a placeholder.

use super::nearest::format_nearest_hint;

/// The values that a template can name.
pub const PLACEHOLDERS: &[&str] = &[
    "title", "text", "command", "spec", "worktree", "status", "reason", "feedback", "kind", "id",
];

/// The forms that need no text of the user's own.
const READY: &[(&str, ReadyForm)] = &[
    ("slack", ReadyForm::Slack),
    ("discord", ReadyForm::Discord),
    ("telegram", ReadyForm::Telegram),
    ("ntfy", ReadyForm::Ntfy),
];

/// Longer templates are mistakes.
pub(super) const LONGEST: usize = 4096;

/// A service whose form of a message is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadyForm {
    /// An incoming webhook of Slack, or of what is compatible with it.
    Slack,
    /// A webhook of Discord.
    Discord,
    /// `sendMessage` of Telegram's Bot API.
    Telegram,
    /// A topic of ntfy.
    Ntfy,
}

/// How a notification is written for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageForm {
    /// As a known service reads it.
    Ready(ReadyForm),
    /// The user's own text.
    Own(OwnTemplate),
}

/// The user's own text; its placeholders are known, and where it looks like JSON it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTemplate {
    text: String,
    json: bool,
}

/// A part of a template.
enum TemplatePart<'t> {
    Text(&'t str),
    Value(&'t str),
}

impl MessageForm {
    /// Reads the name of a ready form, or a text of the user's own.
    ///
    /// # Errors
    /// The mistake in it, for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((_, form)) = READY.iter().find(|(name, _)| *name == text) {
            return Ok(MessageForm::Ready(*form));
        }
        if text.len() > LONGEST {
            return Err(format!("must have at most {LONGEST} bytes"));
        }
        let parts = split_template(text);
        for part in &parts {
            if let TemplatePart::Value(name) = part
                && !PLACEHOLDERS.contains(name)
            {
                let near = format_nearest_hint(name, PLACEHOLDERS.iter().copied());
                return Err(format!(
                    "unknown placeholder `{{{name}}}`{near}; for the text itself write `{{{{{name}}}}}`"
                ));
            }
        }
        if !parts
            .iter()
            .any(|part| matches!(part, TemplatePart::Value(_)))
        {
            let near = format_nearest_hint(text, READY.iter().map(|(name, _)| *name));
            return Err(format!(
                "no ready template has this name{near}; a text of your own has a placeholder such as `{{text}}`"
            ));
        }
        let sample = join_parts(&parts, |_| "x".to_owned());
        let begins_as_json = text
            .trim_start()
            .strip_prefix('{')
            .is_some_and(|after_brace| after_brace.trim_start().starts_with('"'));
        let json = match serde_json::from_str::<serde_json::Value>(&sample) {
            Ok(value) => value.is_object() || value.is_array(),
            Err(error) if begins_as_json => {
                return Err(format!(
                    "begins like JSON and is none: {error}; a placeholder stands inside of a string, as in \"{{text}}\""
                ));
            }
            Err(_) => false,
        };
        Ok(MessageForm::Own(OwnTemplate {
            text: text.to_owned(),
            json,
        }))
    }

    /// As it is written in the configuration.
    pub fn source(&self) -> &str {
        match self {
            MessageForm::Ready(form) => READY
                .iter()
                .find(|(_, other)| other == form)
                .map_or("", |(name, _)| name),
            MessageForm::Own(own) => &own.text,
        }
    }
}

impl OwnTemplate {
    /// Whether it is JSON, whose strings the values stand in.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// The text with each value put in.
    pub fn fill(&self, value: impl Fn(&str) -> String) -> String {
        join_parts(&split_template(&self.text), |name| {
            if self.json {
                inside_a_string(&value(name))
            } else {
                value(name)
            }
        })
    }
}

/// A text as it stands between the quotes of a JSON string.
fn inside_a_string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn join_parts(parts: &[TemplatePart<'_>], value: impl Fn(&str) -> String) -> String {
    let fill_part = |part: &TemplatePart<'_>| match part {
        TemplatePart::Text(text) => (*text).to_owned(),
        TemplatePart::Value(name) => value(name),
    };
    parts.iter().map(fill_part).collect()
}

fn split_template(text: &str) -> Vec<TemplatePart<'_>> {
    let (mut parts, mut begin, mut at) = (Vec::new(), 0, 0);
    while let Some(open) = text[at..].find('{').map(|offset| at + offset) {
        let twice = text[open + 1..].starts_with('{');
        let name = read_leading_word(&text[open + 1 + usize::from(twice)..]);
        let end = open + 1 + usize::from(twice) + name.len();
        if name.is_empty() || !text[end..].starts_with(if twice { "}}" } else { "}" }) {
            at = open + 1;
            continue;
        }
        parts.push(TemplatePart::Text(&text[begin..open]));
        if twice {
            parts.push(TemplatePart::Text(&text[open + 1..=end]));
            at = end + 2;
        } else {
            parts.push(TemplatePart::Value(name));
            at = end + 1;
        }
        begin = at;
    }
    parts.push(TemplatePart::Text(&text[begin..]));
    parts
}

/// The lower-case word that a text begins with.
fn read_leading_word(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_lowercase() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(text: &str) -> String {
        let MessageForm::Own(own) = MessageForm::parse(text).unwrap() else {
            panic!("{text} is a ready form")
        };
        own.fill(|name| format!("<{name} \"1\"\n{{text}}>"))
    }

    #[test]
    fn values_are_substituted_once_leaving_other_braces() {
        for (text, wanted) in [
            ("{title}!", "<title \"1\"\n{text}>!"),
            (
                "{ } {a b} {{title}} { title } {spec}",
                "{ } {a b} {title} { title } <spec \"1\"\n{text}>",
            ),
            ("}{{{text}", "}{{<text \"1\"\n{text}>"),
            ("é{kind}é", "é<kind \"1\"\n{text}>é"),
        ] {
            assert_eq!(filled(text), wanted, "{text}");
        }
    }

    #[test]
    fn in_json_a_value_stays_within_its_string() {
        let text = filled(r#"{"a": {"b": "{title}", "c": ["x {text} y"]}}"#);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["a"]["b"], "<title \"1\"\n{text}>");
        assert_eq!(value["a"]["c"][0], "x <text \"1\"\n{text}> y");
    }

    #[test]
    fn built_in_form_is_named_and_round_trips() {
        for name in [
            "slack",
            "discord",
            "telegram",
            "ntfy",
            "{title}: {text}",
            "{\"x\": \"{text}\"}",
        ] {
            assert_eq!(MessageForm::parse(name).unwrap().source(), name);
        }
    }

    #[test]
    fn template_yielding_json_is_treated_as_json() {
        let own = |text: &str| {
            if let Ok(MessageForm::Own(own)) = MessageForm::parse(text) {
                own.is_json()
            } else {
                panic!("{text}")
            }
        };
        assert!(own(r#"{"x": "{text}"}"#) && own(r#"["{text}"]"#));
        assert!(!own("{text}") && !own(r#""{text}""#) && !own("see {text}"));
        assert!(
            MessageForm::parse(&format!("{:LONGEST$}", "{text}")).is_ok(),
            "of the greatest length"
        );
    }

    #[test]
    fn a_mistake_names_the_nearest_word() {
        for (text, said) in [
            (
                "slak",
                "no ready template has this name, did you mean `slack`?",
            ),
            (
                "{titel}",
                "unknown placeholder `{titel}`, did you mean `title`?; for the text itself write `{{titel}}`",
            ),
            (
                "no value",
                "a text of your own has a placeholder such as `{text}`",
            ),
            ("{\"text\": {text}}", "begins like JSON and is none"),
            (&"{text}".repeat(LONGEST), "at most 4096 bytes"),
        ] {
            let error = MessageForm::parse(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([{}\"\\\\ \\n]|title|text|é|.){0,40}", value in any::<String>()) {
            if let Ok(MessageForm::Own(own)) = MessageForm::parse(&text) {
                let filled = own.fill(|_| value.clone());
                prop_assert!(!own.is_json() || serde_json::from_str::<serde_json::Value>(&filled).is_ok(), "{filled}");
            }
        }
    }
}
