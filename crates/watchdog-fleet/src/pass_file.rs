//! libpq's file of passwords: `host:port:database:user:password` a line, and closed to others.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::fleet_error::FleetError;

/// Whom a password is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PasswordOwner<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password that the file has; `None` where it has none, or there is no file.
///
/// # Errors
/// Fails if others may read the file, as libpq has it, or it cannot be read.
pub(crate) fn read_password(
    path: &Path,
    of: PasswordOwner<'_>,
) -> Result<Option<String>, FleetError> {
    let unreadable = |error: std::io::Error| FleetError::File {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(unreadable)?,
    };
    if !meta.is_file() {
        return Err(FleetError::File {
            path: path.to_owned(),
            why: "it is not a regular file".into(),
        });
    }
    if meta.mode() & 0o077 != 0 {
        return Err(FleetError::OpenPassFile {
            path: path.to_owned(),
            mode: meta.mode() & 0o777,
        });
    }
    Ok(find_password(
        &fs::read_to_string(path).map_err(unreadable)?,
        of,
    ))
}

/// The password of the first line that fits.
fn find_password(text: &str, of: PasswordOwner<'_>) -> Option<String> {
    let port = of.port.to_string();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let fields = split_fields(line);
            let [host, line_port, database, user, password] = fields.as_slice() else {
                return None;
            };
            let fits = [
                (host, of.host),
                (line_port, port.as_str()),
                (database, of.database),
                (user, of.user),
            ];
            fits.iter()
                .all(|(field, wanted)| *field == "*" || field == wanted)
                .then(|| password.clone())
        })
}

/// The fields of a line; `\` takes the meaning from a colon and from itself. The fifth is the rest.
fn split_fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            _ if escaped => {
                field.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const OF: PasswordOwner<'_> = PasswordOwner {
        host: "db.example",
        port: 5432,
        database: "fleet",
        user: "worker",
    };

    #[test]
    fn first_matching_line_gives_password_including_colons() {
        for (text, expected) in [
            ("db.example:5432:fleet:worker:s3:cret", Some("s3:cret")),
            (
                "# db.example:5432:fleet:worker:no\n*:*:*:worker:a\\:b\\\\c\n*:*:*:*:later",
                Some("a:b\\c"),
            ),
            ("db.example:5433:fleet:worker:x\nother:*:*:*:y", None),
            ("*:*:*:*", None),
            ("", None),
        ] {
            assert_eq!(find_password(text, OF).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn world_readable_pass_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        assert!(read_password(&path, OF).unwrap().is_none());
        fs::write(&path, "*:*:*:*:hush").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read_password(&path, OF).unwrap_err();
        assert!(
            matches!(error, FleetError::OpenPassFile { mode: 0o640, .. })
                && !error.to_string().contains("hush"),
            "{error}"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_password(&path, OF).unwrap().as_deref(), Some("hush"));
    }
}
