//! One POST over http or https, with a deadline. Redirects are not followed, the answer's body is not read.
//!
//! Certificates are judged by the system's own store, so that a company's authority counts; proxies are those of the environment.

use std::sync::Arc;

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::webhook::{PostError, WebhookPost};

/// Sends it, and waits for an answer from 200 to 299. Blocks.
///
/// # Errors
/// Where there was another answer, or none.
pub fn post(post: &WebhookPost<'_>) -> Result<(), PostError> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(post.timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("watchdog/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    let mut request = Agent::new_with_config(config).post(post.url).content_type("application/json");
    for (name, value) in post.headers {
        request = request.header(*name, *value);
    }
    let answer = request.send(post.body).map_err(|error| PostError::Unreachable(error.to_string()))?;
    match answer.status().as_u16() {
        200..=299 => Ok(()),
        other => Err(PostError::Refused(other)),
    }
}
