//! All refs as git lists them. A HEAD that is not in the list must be proved to be unborn.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::refs::FullName;

use super::mirror::RefValue;
use super::served_worktree::ServedWorktree;
use crate::Error;

/// How often refs are listed again that move during the listing.
const ROUNDS: usize = 3;
/// git keeps these as files in every format.
const FILES: [&str; 2] = ["FETCH_HEAD", "MERGE_HEAD"];

impl ServedWorktree {
    /// All refs with HEAD and its like; HEAD is always among them.
    pub(super) fn list(&self) -> Result<BTreeMap<String, RefValue>, Error> {
        for _ in 0..ROUNDS {
            let args = [
                "for-each-ref",
                "--include-root-refs",
                "--format=%(refname)%00%(objectname)%00%(symref)",
            ];
            let mut refs = parse_ref_list(&self.git_output(&args, &[])?)
                .map_err(|why| self.silence_error(&args, &why))?;
            if refs.contains_key("HEAD") || self.add_unborn_head(&mut refs)? {
                return Ok(refs);
            }
        }
        Err(self.silence_error(
            &["for-each-ref"],
            "HEAD cannot be read, or moves all the time",
        ))
    }

    /// Adds a HEAD whose branch is not there; `false` where that branch is there after all.
    fn add_unborn_head(&self, refs: &mut BTreeMap<String, RefValue>) -> Result<bool, Error> {
        let args = ["symbolic-ref", "--no-recurse", "HEAD"];
        let text = self.git_output(&args, &[])?;
        let branch = String::from_utf8_lossy(&text).trim_end().to_owned();
        check_name(&branch).map_err(|why| self.silence_error(&args, &why))?;
        let args = ["show-ref", "--exists", &branch];
        let answer = self.ask(&args, &[])?;
        match answer.code {
            // git's own code for a ref that is not there, as opposed to one that cannot be read.
            Some(2) => {
                refs.insert("HEAD".to_owned(), RefValue::Ref(branch));
                Ok(true)
            }
            Some(0) => Ok(false),
            _ => Err(self.refusal_error(&args, &answer)),
        }
    }
}

/// Lines of `name NUL object NUL target of a symbolic ref`.
fn parse_ref_list(listed: &[u8]) -> Result<BTreeMap<String, RefValue>, String> {
    let mut refs = BTreeMap::new();
    for line in listed
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let odd = || {
            format!(
                "the line '{}' is not understood",
                String::from_utf8_lossy(line)
            )
        };
        let text = std::str::from_utf8(line).map_err(|_| odd())?;
        let mut parts = text.split('\0');
        let (Some(name), Some(id), Some(target), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(odd());
        };
        if FILES.contains(&name) {
            continue;
        }
        check_name(name)?;
        let value = match target {
            "" => RefValue::Object(id.parse::<ObjectId>().map_err(|_| odd())?),
            target => {
                check_name(target)?;
                RefValue::Ref(target.to_owned())
            }
        };
        refs.insert(name.to_owned(), value);
    }
    Ok(refs)
}

/// Names become paths, so none may leave the folder.
fn check_name(name: &str) -> Result<(), String> {
    let odd = |why: &str| format!("'{}' is no name of a ref: {why}", name.escape_debug());
    if name.contains('/') && !name.starts_with("refs/") {
        return Err(odd("it is in no folder of refs"));
    }
    FullName::try_from(name)
        .map(drop)
        .map_err(|error| odd(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "2df7e77342025efc9b59412a4756b6dea95b2251";

    #[test]
    fn git_listing_includes_symbolic_and_root_refs() {
        let lines = format!(
            "CHERRY_PICK_HEAD\0{ID}\0\nHEAD\0{ID}\0refs/heads/main\nMERGE_HEAD\0{ID}\0\nrefs/heads/main\0{ID}\0\n"
        );
        let refs = parse_ref_list(lines.as_bytes()).unwrap();
        let object = RefValue::Object(ID.parse::<ObjectId>().unwrap());
        let expected = [
            ("CHERRY_PICK_HEAD", object.clone()),
            ("HEAD", RefValue::Ref("refs/heads/main".into())),
            ("refs/heads/main", object),
        ];
        assert_eq!(
            refs,
            expected.map(|(name, held)| (name.to_owned(), held)).into()
        );
    }

    #[test]
    fn what_is_not_understood_is_no_empty_list() {
        for line in [
            "refs/heads/main\n".to_owned(),
            format!("refs/heads/main\0{}\0\n", &ID[..39]),
            format!("refs/heads/../../x\0{ID}\0\n"),
            format!("/etc/x\0{ID}\0\n"),
            format!("objects/x\0{ID}\0\n"),
            format!("HEAD\0{ID}\0../x\n"),
            format!("refs/heads/main\0{ID}\0\0\n"),
        ] {
            assert!(parse_ref_list(line.as_bytes()).is_err(), "{line:?}");
        }
        assert!(parse_ref_list(b"refs/heads/\xff\0\0\n").is_err());
    }
}
