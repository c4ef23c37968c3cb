//! Asks the sensors of a judgement before anything else is judged: a halt ends it as a spent limit does, after its rescue.

use crate::judge::capabilities::SystemCapabilities;
use watchdog_core::checks::read_sensors;
use watchdog_core::config::settings::RescueMode;
use watchdog_facts::context::SessionContext;
use watchdog_facts::evidence::{Degradation, StopReason, WarningCode};
use watchdog_process::CancelFlag;

use super::executor::ActionExecutor;
use super::judgement_input::JudgementInput;

/// Why the work has to halt, and the sensors that gave no answer. Uncommitted work is in a snapshot before their programs run.
pub fn read_halt(
    input: &JudgementInput,
    executor: &ActionExecutor,
    session: &SessionContext,
) -> (Option<StopReason>, Vec<Degradation>) {
    let limits = &input.settings.limits;
    if limits.sensors.is_empty() {
        return (None, Vec::new());
    }
    if input.settings.rescue.mode != RescueMode::Off
        && !input.overrides.no_rescue
        && let Err(unread) = executor.snapshot("before the sensors")
    {
        return (
            None,
            vec![Degradation {
                code: WarningCode::SnapshotFailed,
                detail: format!("no sensor was run: {}", unread.why),
            }],
        );
    }
    let root = input
        .worktree
        .lock()
        .expect("mutex poisoned")
        .root()
        .to_owned();
    let never = CancelFlag::new();
    read_sensors(
        limits,
        &SystemCapabilities::new(input, &root, &never),
        session,
    )
}
