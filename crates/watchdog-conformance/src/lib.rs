//! Conformance: does an agent's CLI do what its preset says? Runs the real CLI against a scripted model API on this machine and judges
//! what happened, without tokens and without a login.
//!
//! [`api_server`] is that API, for the protocols that agents speak; [`scenes`] has what is tried, [`scene_stage`] where, and
//! [`scene_run`] plays one scene with the program as its users run it.

pub mod agents;
mod api_reply;
mod api_script;
pub mod api_server;
mod chat_shape;
mod gemini_shape;
mod http_reply;
pub mod left_running;
mod messages_shape;
pub mod model_request;
mod responses_shape;
pub mod scene;
pub mod scene_agent;
mod scene_judges;
pub mod scene_run;
pub mod scene_stage;
pub mod scenes;
