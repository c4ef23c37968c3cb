//! Whether a program that is started here reaches the user's desktop, and the variable that it needs for that.

use std::ffi::OsString;
use std::path::Path;

/// The variables to set so that a program reaches the session bus or the display of this user; `None` where there is neither.
///
/// Cron jobs have no variable of the session; systemd keeps the bus of a user who is logged in at a
/// known place.
pub fn desktop_session() -> Option<Vec<(&'static str, OsString)>> {
    let uid = rustix::process::getuid().as_raw();
    find_bus_variables(
        |name| std::env::var_os(name).filter(|value| !value.is_empty()),
        Path::new(&format!("/run/user/{uid}/bus")),
    )
}

fn find_bus_variables(
    variable: impl Fn(&str) -> Option<OsString>,
    bus: &Path,
) -> Option<Vec<(&'static str, OsString)>> {
    if variable("DBUS_SESSION_BUS_ADDRESS").is_some() {
        return Some(Vec::new());
    }
    if bus.exists() {
        let mut address = OsString::from("unix:path=");
        address.push(bus);
        return Some(vec![("DBUS_SESSION_BUS_ADDRESS", address)]);
    }
    // The bus is found through the display then, if at all; what is started says so.
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| variable(name).is_some())
        .then(Vec::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_bus_precedes_user_bus_and_display() {
        let none = Path::new("/nowhere/bus");
        let with = |names: &'static [&'static str]| {
            move |name: &str| names.contains(&name).then(|| OsString::from("x"))
        };
        assert_eq!(
            find_bus_variables(with(&["DBUS_SESSION_BUS_ADDRESS"]), Path::new("/")),
            Some(Vec::new())
        );
        assert_eq!(
            find_bus_variables(with(&[]), Path::new("/")),
            Some(vec![("DBUS_SESSION_BUS_ADDRESS", "unix:path=/".into())])
        );
        assert_eq!(
            find_bus_variables(with(&["WAYLAND_DISPLAY"]), none),
            Some(Vec::new())
        );
        assert_eq!(find_bus_variables(with(&[]), none), None);
    }
}
