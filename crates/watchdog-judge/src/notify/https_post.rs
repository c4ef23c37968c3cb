//! Sends a POST over http or https, with a deadline. Redirects are not followed; of an answer that
//! refuses, the beginning is read.
//!
//! Certificates are judged by the system's own store, so that a company's authority counts; proxies are those of the environment.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::receivers::MessagePost;
use super::send_error::SendError;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_facts::secret_shapes::mask_secrets;

/// So much of a refusal is read, and so much of its first line is told.
const ANSWER: u64 = 2048;
const SHOWN: usize = 200;

/// Sends it, and waits for an answer from 200 to 299, at most so long, DNS included. Blocks.
///
/// # Errors
/// Fails if there was another answer, or none.
pub fn post_webhook(post: &MessagePost, timeout: Duration) -> Result<(), SendError> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("watchdog/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    let mut request = Agent::new_with_config(config)
        .post(&post.url)
        .content_type(post.content_type);
    for (name, value) in &post.headers {
        request = request.header(*name, value);
    }
    let unreachable = |error: ureq::Error| {
        let why = match &error {
            ureq::Error::Timeout(_) => {
                format!("no answer came within {} s", timeout.as_secs())
            }
            error => {
                let why = error.to_string();
                let why = why.strip_prefix("io: ").unwrap_or(&why);
                format!("no answer came: {}", without_address(why, &post.url))
            }
        };
        SendError::new(why)
            .hint("check the host's name and the network; proxies are those of HTTPS_PROXY")
    };
    let mut answer = request.send(post.body.as_bytes()).map_err(unreachable)?;
    let code = answer.status().as_u16();
    let hint = match code {
        200..=299 => return Ok(()),
        401 | 403 | 404 | 410 => "check the address and the token in it",
        300..=399 => "redirects are not followed; name the address that it leads to",
        400 | 413 | 415 | 422 => "check that `template` is the one of this service",
        429 => "too much was sent there; try again later",
        _ => "the server has a fault of its own; try again later",
    };
    let mut bytes = Vec::new();
    // An unreadable answer is left out; the status says enough.
    let _ = answer
        .body_mut()
        .as_reader()
        .take(ANSWER)
        .read_to_end(&mut bytes);
    let text = without_address(&mask_secrets(&String::from_utf8_lossy(&bytes)), &post.url);
    let mut lines = text.lines().map(str::trim);
    let answer = match lines.find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", escape_to_one_line(&cut_text(line, SHOWN))),
        None => String::new(),
    };
    Err(SendError::new(format!("the answer was HTTP {code}{answer}")).hint(hint))
}

/// A text without what an address may keep secret: its user, its path and its query.
fn without_address(text: &str, url: &str) -> String {
    const LEFT_OUT: &str = "…";
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = after_scheme.split_at(
        after_scheme
            .find(['/', '?', '#'])
            .unwrap_or(after_scheme.len()),
    );
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    let parts = path
        .split(['/', '?', '#', '&', '='])
        .filter(|part| part.len() >= 6);
    let mut text = text.to_owned();
    for secret in [url, after_scheme, path, user]
        .into_iter()
        .chain(parts)
        .filter(|secret| secret.len() > 2)
    {
        text = text.replace(secret, LEFT_OUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_address_is_shown() {
        let url = "https://me:pw@api.telegram.org/bot123456:SECRET/sendMessage?chat_id=4242424242";
        for text in [
            format!("bad uri: {url}"),
            "no route to /bot123456:SECRET/sendMessage?chat_id=4242424242 there".into(),
            "user me:pw is unknown, and bot123456:SECRET, and 4242424242".into(),
        ] {
            let told = without_address(&text, url);
            assert!(
                !["SECRET", "pw", "4242424242"]
                    .iter()
                    .any(|secret| told.contains(secret)),
                "{told}"
            );
        }
        assert_eq!(
            without_address("failed to connect to api.telegram.org", url),
            "failed to connect to api.telegram.org"
        );
    }
}
