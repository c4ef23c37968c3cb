//! Masks the texts of a JSON value: what [`mask_secrets`] finds in them, and what only the name of a member makes a secret. Pure.

use std::borrow::Cow;

use serde_json::Value;

use super::secret_rules::find_due_rules;
use super::secret_shapes::{is_secret_in_text, mask_secrets, shown_for};

/// How the name of a member with a password ends; with a token of any kind, without what joins its words.
const PASSWORD_NAMES: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];
const TOKEN_NAMES: [&str; 5] = ["token", "secret", "apikey", "accesskey", "privatekey"];

/// The shortest password and the shortest token, in characters.
const SHORTEST_PASSWORD: usize = 4;
const SHORTEST_TOKEN: usize = 16;

/// Masks every text in a value, and each text or number that has the name of a secret, alone or in a list. Names stay as they are.
pub fn mask_value(value: &mut Value) {
    mask_texts(value, false);
}

/// The same, and the secrets in names.
pub(super) fn mask_document(value: &mut Value) {
    mask_texts(value, true);
}

fn mask_texts(value: &mut Value, with_names: bool) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = mask_secrets(text) {
                *text = masked;
            }
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| mask_texts(entry, with_names)),
        Value::Object(members) => {
            if with_names {
                let masked = std::mem::take(members)
                    .into_iter()
                    .map(|(name, value)| (mask_secrets(&name).into_owned(), value));
                *members = masked.collect();
            }
            for (name, value) in members {
                mask_texts(value, with_names);
                if !find_due_rules(name.as_bytes()).is_empty() {
                    mask_named(name, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks a text or number because of its name, and those of a list that has it.
fn mask_named(name: &str, value: &mut Value) {
    let rule = match value {
        Value::String(text) => rule_of_name(name, text),
        Value::Number(number) => rule_of_name(name, &number.to_string()),
        Value::Array(entries) => {
            return entries.iter_mut().for_each(|entry| mask_named(name, entry));
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    };
    if let Some(rule) = rule {
        *value = Value::String(shown_for(rule));
    }
}

/// The rule that finds a secret in a text of this name, which has none by itself.
fn rule_of_name(name: &str, text: &str) -> Option<&'static str> {
    let name: String = name
        .chars()
        .filter(|c| !"_- ".contains(*c))
        .collect::<String>()
        .to_ascii_lowercase();
    let ends_with = |names: &[&str]| names.iter().any(|end| name.ends_with(end));
    // A partly masked text already names the rule that found it.
    if text.contains("[secret: ") {
        return None;
    }
    let rule = if ends_with(&PASSWORD_NAMES) && text.chars().count() >= SHORTEST_PASSWORD {
        "password"
    } else if ends_with(&TOKEN_NAMES)
        && text.len() >= SHORTEST_TOKEN
        && !text.contains(char::is_whitespace)
    {
        "token"
    } else {
        return None;
    };
    is_secret_in_text(rule, text.as_bytes()).then_some(rule)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_texts_are_masked_by_shape_and_name() {
        for (before, after) in [
            (
                json!({"a": ["password=h0rse-staple"]}),
                json!({"a": ["password=[secret: password]"]}),
            ),
            (
                json!({"b": {"c": "plain", "d": 7}}),
                json!({"b": {"c": "plain", "d": 7}}),
            ),
            (
                json!({"password": "h0rse staple"}),
                json!({"password": "[secret: password]"}),
            ),
            (
                json!({"password": "a\"staple"}),
                json!({"password": "[secret: password]"}),
            ),
            (
                json!({"db": {"Pwd": 47114711}}),
                json!({"db": {"Pwd": "[secret: password]"}}),
            ),
            (
                json!({"password": ["h0rse", ["a,b{c"], 47114711, {"n": "plain"}]}),
                {
                    let masked = "[secret: password]";
                    json!({"password": [masked, [masked], masked, {"n": "plain"}]})
                },
            ),
            (
                json!({"api_key": "a1b2c3d4e5f6a7b8c9d0"}),
                json!({"api_key": "[secret: token]"}),
            ),
            (
                json!({"access-token": ["a1b2:c3d4;e5f6a7b8"]}),
                json!({"access-token": ["[secret: token]"]}),
            ),
        ] {
            let mut value = before.clone();
            mask_value(&mut value);
            assert_eq!(value, after, "{before}");
            mask_value(&mut value);
            assert_eq!(value, after, "masked twice");
        }
    }

    #[test]
    fn harmless_values_stay_whatever_their_name() {
        for value in [
            json!({"password": "required", "passwd": null, "pwd": true, "passphrase": "$FROM_ENV"}),
            json!({"tokens": 1234567890123456_u64, "token": "identifier", "secret": "a sentence of 1 to 16 words", "key": "a1b2c3d4e5f6a7b8"}),
            json!({"password": {"type": "string", "minLength": 8}}),
        ] {
            let mut masked = value.clone();
            mask_value(&mut masked);
            assert_eq!(masked, value);
        }
    }

    #[test]
    fn names_are_masked_only_in_shown_documents() {
        let name = format!("{}{}", "ghp_", "aB3d".repeat(9));
        let (mut value, mut document) = (json!({ &name: "a" }), json!({ &name: "a" }));
        mask_value(&mut value);
        mask_document(&mut document);
        assert!(value.get(&name).is_some());
        assert_eq!(document, json!({"[secret: github-token]": "a"}));
    }
}
