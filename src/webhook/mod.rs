//! Only ureq. Sends one JSON document to one address; whether and when is for others to decide.

mod post;

pub use post::{PostError, WebhookPost, post};
