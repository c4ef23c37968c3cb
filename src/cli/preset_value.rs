//! The value of `--agent`: the name of a preset, or of an agent of the configuration. Help and completions list the presets that are built
//! in.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;

use watchdog_agent::preset::PresetCatalog;
use watchdog_core::config::{PresetName, unknown_preset};

/// Reads the name of a preset.
#[derive(Debug, Clone, Copy)]
pub struct PresetValueParser;

impl TypedValueParser for PresetValueParser {
    type Value = PresetName;

    fn parse_ref(
        &self,
        cmd: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<PresetName, clap::Error> {
        let text = value.to_string_lossy();
        PresetName::parse(&text).ok_or_else(|| {
            let option = arg.map_or_else(|| "AGENT".to_owned(), ToString::to_string);
            let why = unknown_preset(&text, PresetName::BUILT_IN.iter().map(PresetName::as_str));
            clap::Error::raw(ErrorKind::InvalidValue, format!("{option}: {why}\n")).with_cmd(cmd)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(built_in())
    }
}

/// Reads the name of a preset or of an entry of `agents`: which of them there are is known once the configuration is read.
#[derive(Debug, Clone, Copy)]
pub struct AgentNameParser;

impl TypedValueParser for AgentNameParser {
    type Value = String;

    fn parse_ref(
        &self,
        cmd: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        value
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| clap::Error::new(ErrorKind::InvalidUtf8).with_cmd(cmd))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(built_in())
    }
}

fn built_in() -> Box<dyn Iterator<Item = PossibleValue>> {
    let presets = PresetCatalog::built_in();
    Box::new(
        presets.map(|preset| PossibleValue::new(preset.name.as_str()).help(preset.title.as_str())),
    )
}
