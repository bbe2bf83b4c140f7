//! Parses the command line. If the value of an argument cannot be parsed, the message says how to write it: the errors of
//! Rust's own parsers do not. If the preset is missing, it says what can be one.

use std::error::Error as _;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::exit::Exit;
use super::output;
use super::preset_names::PRESET_LIST;

/// The arguments of this process. Ends the process for help, and for wrong arguments.
pub(super) fn parse<T: Parser>() -> T {
    T::try_parse().unwrap_or_else(|error| refuse(&explained(error)))
}

fn refuse(error: &clap::Error) -> ! {
    let options = std::env::args_os().skip(1).take_while(|it| it != "--");
    let mut json = options.filter(|it| it == "--json" || it == "--jsonl");
    if error.use_stderr() && json.next().is_some() {
        output::choose_json(true);
        let text = error.to_string();
        let reason = text.split("\n\n").next().unwrap_or(&text);
        output::failure_line(None, reason.trim_start_matches("error: "), Exit::WrongUse);
    }
    error.exit()
}

fn explained(mut error: clap::Error) -> clap::Error {
    if lacks_preset(&error) {
        let tip = format!(
            "add --preset 'Web Viewer', or --preset FILE with a configuration; {PRESET_LIST} lists the presets that have a name"
        );
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
        return error;
    }
    if names_output(&error) {
        let tip = "the folder for the results comes after the model, without an option: \
                   `assetfs optimize chair.glb out --preset 'Web Viewer'`";
        let tips = ContextValue::StyledStrs(vec![tip.to_owned().into()]);
        error.insert(ContextKind::Suggested, tips);
        return error;
    }
    let context = |kind| error.get(kind).map(ToString::to_string);
    let parts = (
        error.source().and_then(how_to_write),
        context(ContextKind::InvalidValue),
        context(ContextKind::InvalidArg),
    );
    let (Some(advice), Some(value), Some(argument)) = parts else {
        return error;
    };
    let message = format!(
        "invalid value '{value}' for '{argument}': {advice}\n\nFor more information, try '--help'.\n"
    );
    clap::Error::raw(ErrorKind::ValueValidation, message)
}

fn lacks_preset(error: &clap::Error) -> bool {
    let missing = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::MissingRequiredArgument
        && missing.is_some_and(|names| names.to_string().contains("--preset"))
}

/// True for an option that many programs have for what `optimize` takes as OUT.
fn names_output(error: &clap::Error) -> bool {
    let is_optimize = error
        .get(ContextKind::Usage)
        .is_some_and(|usage| usage.to_string().contains("assetfs optimize"));
    let option = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let option = option.unwrap_or_default();
    error.kind() == ErrorKind::UnknownArgument
        && is_optimize
        && ["-o", "--out", "--output"].contains(&option.as_str())
}

/// How to write a value of the type whose parser failed; `None` if its own message says it.
fn how_to_write(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<ParseIntError>() {
        return Some(match error.kind() {
            IntErrorKind::PosOverflow => "the number is too large",
            IntErrorKind::Zero => "write a whole number of at least 1",
            _ => "write a whole number, like 20",
        });
    }
    if error.is::<ParseFloatError>() {
        return Some("write a number, like 0.01");
    }
    error
        .is::<AddrParseError>()
        .then_some("write an address with a port, like 127.0.0.1:8080")
}
