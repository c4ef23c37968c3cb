//! Sends a notification to an address on the network. A build without the feature `webhooks` reports that in place of sending it.

use std::time::Duration;

/// The request to send.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "webhooks"),
    expect(dead_code, reason = "a build without webhooks sends nothing")
)]
pub struct WebhookPost<'a> {
    /// Where to; `http://` or `https://`.
    pub url: &'a str,
    /// What is sent.
    pub body: &'a [u8],
    /// Its type.
    pub content_type: &'a str,
    /// Names and values of further header lines.
    pub headers: &'a [(&'a str, &'a str)],
    /// The limit for the whole call, DNS included.
    pub timeout: Duration,
}

/// Why a notice did not arrive.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(feature = "webhooks"),
    expect(dead_code, reason = "a build without webhooks gets no answer")
)]
pub enum PostError {
    /// The server answered, and did not accept it.
    #[error("the answer was HTTP {code}{}{said}", if said.is_empty() { "" } else { ": " })]
    Refused {
        /// The status.
        code: u16,
        /// The first line of the answer, in part.
        said: String,
    },
    /// No answer came, or not in time.
    #[error("{0}")]
    Unreachable(String),
}

#[cfg(feature = "webhooks")]
pub use super::https_post::post;

/// Sends nothing.
///
/// # Errors
/// Always: this build has no network.
#[cfg(not(feature = "webhooks"))]
pub fn post(_: &WebhookPost<'_>) -> Result<(), PostError> {
    Err(PostError::Unreachable(
        "this watchdog was built without webhooks: build it with --features webhooks".into(),
    ))
}
