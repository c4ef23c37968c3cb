//! `watchdog notify test`: a test notice to the receivers of the configuration in force.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::cli::args_notify::{NotifyArgs, NotifyCommand};
use crate::cli::failure::{CommandFailure, exit_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_core::config::message_template::MessageForm;
use watchdog_core::config::parse_bytes;
use watchdog_core::config::settings::{NotifyRule, NotifyTarget};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::verdict::Reason;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::{
    config_error_to_fact as bad_configuration, load_effective, read_named,
};
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::notify::send::{SendError, describe_recipient, send_events};
use watchdog_judge::wire::event_words::answers_to;
use watchdog_judge::wire::notice_json::{TestedReceiver, notice_json, test_notice, tested_json};
use watchdog_store::journal::new_event;

/// The rule to add if no notification is configured.
const EXAMPLE: &str = r#"add to completion.json, and allow it with `watchdog trust`: "notify": [{"on": ["review", "failed"], "desktop": true}]"#;

/// The source of the rules.
struct RulesHere {
    rules: Vec<NotifyRule>,
    worktree_id: String,
    path: String,
    spec: Option<String>,
}

/// Sends a test notice, and says who has it.
pub fn run_notify_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: NotifyArgs,
) -> Result<u8, CommandFailure> {
    let NotifyCommand::Test { on } = args.command;
    let RulesHere {
        rules,
        worktree_id,
        path,
        spec,
    } = rules_here(command_env)?;
    if rules.is_empty() {
        return Err(CommandFailure::usage(
            "the configuration in force here has no `notify`, so nobody is told",
        )
        .hint(EXAMPLE));
    }
    let (kind, data) = test_notice(on.as_deref());
    let sample = new_event(now(), &worktree_id, spec.as_deref(), kind, data);
    let chosen: Vec<&NotifyRule> = rules
        .iter()
        .filter(|rule| on.is_none() || answers_to(&sample, &rule.on))
        .collect();
    if chosen.is_empty() {
        let on = on.as_deref().unwrap_or_default();
        let distinct_words: BTreeSet<&str> = rules
            .iter()
            .flat_map(|rule| &rule.on)
            .map(String::as_str)
            .collect();
        let delivery_words: Vec<&str> = distinct_words.into_iter().collect();
        let failure =
            CommandFailure::usage(format!("no receiver of `notify` is told about '{on}'"));
        return Err(failure.hint(format!("they are told about {}", delivery_words.join(", "))));
    }
    let notice = notice_json(&sample, &path);
    let mut tested = Vec::new();
    for (to, words, timeout) in group_by_receiver(&chosen) {
        let begun = Instant::now();
        let sent = send_events(
            to,
            &[&notice],
            command_env.notifications.commands(),
            timeout,
        );
        let receiver = build_tested_receiver(to, words, sent, begun.elapsed());
        if !terminal.json {
            show_receiver(terminal, &receiver);
        }
        tested.push(receiver);
    }
    let failed = tested
        .iter()
        .filter(|receiver| receiver.why.is_some())
        .count();
    if terminal.json {
        terminal.value(&tested_json(&tested));
    } else {
        let arrived = plural((tested.len() - failed) as u64, "test notice");
        terminal.tell(&if failed == 0 {
            format!("{arrived} sent")
        } else {
            format!("{arrived} sent, {failed} not")
        });
    }
    Ok(exit_code(failed == 0))
}

/// The rules of the trusted configuration in force. A named one needs no repository.
fn rules_here(command_env: &CommandEnv) -> Result<RulesHere, CommandFailure> {
    let open = match (OpenWorktree::open(command_env), &command_env.config) {
        (Ok(open), _) => open,
        (Err(_), Some(named)) => {
            let bytes = read_named(named, &command_env.worktree).map_err(|error| {
                CommandFailure::configuration(format!(
                    "failed to read {}: {error}",
                    named.display()
                ))
            })?;
            let parsed = parse_bytes(&bytes, named)
                .map_err(|error| CommandFailure::from(bad_configuration(&error)))?;
            let path = std::path::absolute(&command_env.worktree)
                .unwrap_or_default()
                .display()
                .to_string();
            return Ok(RulesHere {
                rules: parsed.settings.notify,
                worktree_id: String::new(),
                path,
                spec: None,
            });
        }
        (Err(error), None) => return Err(error.into()),
    };
    let latest = open.recorded_baseline(None)?;
    let spec = open.spec_or_default(latest.as_ref());
    let effective_config = load_effective(
        command_env,
        &open,
        Some(&spec),
        latest.as_ref().map(|latest| &latest.point),
    )?;
    if let ConfigTrust::Untrusted { allow_with } = effective_config.trust {
        let failure = CommandFailure::new(
            Reason::Untrusted,
            "completion.json is not trusted and not used, so nothing was sent",
        );
        return Err(failure.hint(format!("read it, then allow it with: {allow_with}")));
    }
    let path = open.root().display().to_string();
    Ok(RulesHere {
        rules: effective_config.settings.notify,
        worktree_id: open.worktree_id,
        path,
        spec: Some(spec),
    })
}

/// Each receiver once, with the words of all of its rules.
fn group_by_receiver<'r>(
    rules: &[&'r NotifyRule],
) -> Vec<(&'r NotifyTarget, Vec<&'r str>, Duration)> {
    let mut merged_receivers: Vec<(&NotifyTarget, Vec<&str>, Duration)> = Vec::new();
    for rule in rules {
        let words = rule.on.iter().map(String::as_str);
        match merged_receivers.iter_mut().find(|(to, ..)| *to == &rule.to) {
            Some((_, known, _)) => known.extend(words),
            None => merged_receivers.push((&rule.to, words.collect(), rule.timeout)),
        }
    }
    merged_receivers
}

fn build_tested_receiver(
    to: &NotifyTarget,
    on: Vec<&str>,
    sent: Result<(), SendError>,
    duration: Duration,
) -> TestedReceiver {
    let form = match to {
        NotifyTarget::Command(_) => "command",
        NotifyTarget::Url(_) => "url",
        NotifyTarget::Desktop => "desktop",
        NotifyTarget::Mail(_) => "mail",
        NotifyTarget::Service {
            form: MessageForm::Own(_),
            ..
        } => "template",
        NotifyTarget::Service { form, .. } => form.source(),
    };
    let note = match to {
        NotifyTarget::Url(url) | NotifyTarget::Service { url, .. } if in_the_clear(url) => Some(
            "it goes over the network in the clear, and so does a token in its address; use https",
        ),
        _ => None,
    };
    let (why, hint) = sent
        .err()
        .map_or((None, None), |error| (Some(error.why), error.hint));
    let on = on.into_iter().map(str::to_owned).collect();
    TestedReceiver {
        delivered: why.is_none(),
        to: describe_recipient(to),
        form: form.to_owned(),
        on,
        why,
        hint,
        note,
        duration,
    }
}

/// Whether an address is one of http beyond this machine.
fn in_the_clear(url: &str) -> bool {
    let host = url
        .strip_prefix("http://")
        .and_then(|after_scheme| after_scheme.split(['/', '?', '#']).next())
        .unwrap_or("localhost");
    let host = host.rsplit('@').next().unwrap_or(host);
    !["localhost", "127.", "[::1]"]
        .iter()
        .any(|own| host.starts_with(own))
}

fn show_receiver(terminal: &CommandTerminal, receiver: &TestedReceiver) {
    let name = format!("{} ({})", escape_to_one_line(&receiver.to), receiver.form);
    match &receiver.why {
        None => terminal.line(&format!("ok      {name}")),
        Some(why) => terminal.line(&format!("failed  {name}: {}", escape_to_one_line(why))),
    }
    for line in receiver.hint.iter().chain(&receiver.note) {
        terminal.line(&format!("        {line}"));
    }
}
