//! The refs of a repository at one moment, as one text: there may be tens of thousands, and most readers look at a few names.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// Full names of refs, each with the object that it named: lines of `<object> <name>`, sorted by name, as neither can hold blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RefList(String);

impl RefList {
    /// Each name, with its object.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(object, name)| (name, object))
    }

    /// The names, for whoever looks for many of them.
    pub fn names(&self) -> HashSet<&str> {
        self.iter().map(|(name, _)| name).collect()
    }

    /// Whether it has a ref of this name, by halves.
    pub fn contains(&self, name: &str) -> bool {
        let is_line_end = |byte: &u8| *byte == b'\n';
        let (mut low, mut high) = (0, self.0.len());
        while low < high {
            let middle = low.midpoint(high);
            let (before, after) = self.0.as_bytes()[low..high].split_at(middle - low);
            let begin = before.iter().rposition(is_line_end);
            let begin = begin.map_or(low, |at| low + at + 1);
            let end = after.iter().position(is_line_end);
            let end = end.map_or(high, |at| middle + at);
            match name_of(&self.0[begin..end]).cmp(&Some(name)) {
                Ordering::Less => low = end + 1,
                Ordering::Greater => high = begin,
                Ordering::Equal => return true,
            }
        }
        false
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<N: AsRef<str>, O: AsRef<str>> FromIterator<(N, O)> for RefList {
    fn from_iter<T: IntoIterator<Item = (N, O)>>(tips: T) -> Self {
        let lines = tips.into_iter();
        let lines = lines.map(|(name, object)| format!("{} {}", object.as_ref(), name.as_ref()));
        let mut lines: Vec<String> = lines.collect();
        lines.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        RefList(lines.join("\n"))
    }
}

impl TryFrom<String> for RefList {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut last = None;
        for line in text.lines() {
            let name = Some(name_of(line).ok_or("a line of its refs has no name")?);
            if name < last {
                return Ok(RefList(text).iter().collect());
            }
            last = name;
        }
        Ok(RefList(text))
    }
}

fn name_of(line: &str) -> Option<&str> {
    Some(line.split_once(' ')?.1)
}

impl From<RefList> for String {
    fn from(refs: RefList) -> Self {
        refs.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_listed_name_is_in_unsorted_text() {
        let names: Vec<String> = (0..40).map(|n| format!("refs/heads/ü{n}")).collect();
        let lines: Vec<String> = names.iter().map(|name| format!("1 {name}")).collect();
        for count in 0..names.len() {
            let refs = RefList::try_from(lines[..count].join("\n")).unwrap();
            for (at, name) in names.iter().enumerate() {
                assert_eq!(refs.contains(name), at < count, "{name} of {count}");
            }
            assert!(!refs.contains("refs/heads/") && !refs.contains("z"));
        }
        RefList::try_from("1 refs/heads/a\n2".to_owned()).unwrap_err();
    }
}
