//! Writes reflogs from git's output as the files that they would be. git prints where each movement ended; it began where the one before it
//! ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::served_worktree::ServedWorktree;
use crate::error::{Error, ReadContext as _};

/// The maximum number of HEAD's movements that are read, newest first.
const HEADS: usize = 20_000;
/// Movements of all refs together.
const ALL: usize = 100_000;

impl ServedWorktree {
    /// The reflog of HEAD as a file.
    pub(crate) fn head_log(&self) -> Result<PathBuf, Error> {
        let logs = self.logs("HEAD", HEADS)?;
        let text = logs.get("HEAD").map_or("", String::as_str);
        self.mirror
            .write("logs/HEAD", text.as_bytes())
            .context("write a copy of the reflog of HEAD")
    }

    /// The reflogs of all refs as files with their names, the worktree's own HEAD among them.
    pub(crate) fn all_logs(&self) -> Result<Vec<(String, PathBuf)>, Error> {
        let fail = |e| Error::read_error("write a copy of the reflogs", e);
        let logs = self.logs("--all", ALL)?;
        self.mirror.clear("logs").map_err(fail)?;
        let mut files = Vec::new();
        for (name, text) in &logs {
            files.push((
                name.clone(),
                self.mirror
                    .write(&format!("logs/{name}"), text.as_bytes())
                    .map_err(fail)?,
            ));
        }
        Ok(files)
    }

    fn logs(&self, of: &str, most: usize) -> Result<BTreeMap<String, String>, Error> {
        let most_text = format!("--max-count={most}");
        // Switches off further output that `log` may be configured to show.
        let args = [
            "log",
            "--walk-reflogs",
            "--format=%H%x00%gD%x00%gs",
            "--date=raw",
            "--no-show-signature",
            "--no-patch",
            "--no-notes",
            "--no-mailmap",
            "--no-color",
            "--no-decorate",
            &most_text,
            of,
            "--",
        ];
        let git_output = self.git_output(&args, &[])?;
        let lines = git_output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .count();
        Ok(as_files(
            &String::from_utf8_lossy(&git_output),
            lines >= most,
        ))
    }
}

/// Turns `commit NUL ref@{seconds zone} NUL message`, newest first, into the text of a reflog for each ref. Drops the oldest
/// entry of each ref from a list that was `cut`, because its start is unknown.
fn as_files(git_output: &str, cut: bool) -> BTreeMap<String, String> {
    let mut entries: BTreeMap<&str, Vec<(&str, &str, &str)>> = BTreeMap::new();
    for line in git_output.lines() {
        let mut parts = line.splitn(3, '\0');
        let (Some(id), Some(selector), Some(message)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let Some((name, at)) = selector
            .strip_suffix('}')
            .and_then(|selector| selector.rsplit_once("@{"))
        else {
            continue;
        };
        // Names become paths.
        if gix::validate::reference::name_partial(name.into()).is_ok() {
            entries.entry(name).or_default().push((id, at, message));
        }
    }
    let mut files = BTreeMap::new();
    for (name, newest_first) in entries {
        let mut text = String::new();
        let mut before: Option<&str> = None;
        for (id, at, message) in newest_first.iter().rev() {
            let null = "0".repeat(id.len());
            if before.is_some() || !cut {
                text.push_str(&format!(
                    "{} {id} watchdog <watchdog@localhost> {at}\t{message}\n",
                    before.unwrap_or(&null)
                ));
            }
            before = Some(id);
        }
        files.insert(name.to_owned(), text);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movements_begin_where_the_one_before_ended() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let git_output = format!(
            "{b}\0refs/heads/x@{{20 +0100}}\0commit: two\n{b}\0HEAD@{{20 +0100}}\0commit: @{{u}} two\n{a}\0HEAD@{{10 +0000}}\0commit (initial): one\n\n"
        );
        let null = "0".repeat(40);
        let who = "watchdog <watchdog@localhost>";
        let head = format!(
            "{null} {a} {who} 10 +0000\tcommit (initial): one\n{a} {b} {who} 20 +0100\tcommit: @{{u}} two\n"
        );
        let files = as_files(&git_output, false);
        assert_eq!(files["HEAD"], head);
        assert_eq!(
            files["refs/heads/x"],
            format!("{null} {b} {who} 20 +0100\tcommit: two\n")
        );
        assert_eq!(
            as_files(&git_output, true)["HEAD"],
            head.lines().nth(1).unwrap().to_owned() + "\n"
        );
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_no_file() {
        let git_output = format!(
            "{}\0refs/../../x@{{20 +0100}}\0commit: two\n",
            "a".repeat(40)
        );
        assert!(as_files(&git_output, false).is_empty());
    }
}
