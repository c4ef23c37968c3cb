//! The lines that differ between two texts, as git writes them.

use gix::bstr::ByteVec;
use gix::diff::blob::unified_diff::{ConsumeHunk, ContextSize, DiffLineKind, HunkHeader};
use gix::diff::blob::{Algorithm, Diff, InternedInput, UnifiedDiff};

/// The hunks with three lines of context, and how many lines were added and removed.
pub fn line_hunks(old: &[u8], new: &[u8]) -> (String, (u64, u64)) {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks = DiffHunks {
        text: Vec::new(),
        added: 0,
        removed: 0,
    };
    let done = UnifiedDiff::new(&diff, &input, hunks, ContextSize::symmetrical(3)).consume();
    let done = done.expect("a hunk goes into memory, which does not fail");
    (done.text.into_string_lossy(), (done.added, done.removed))
}

struct DiffHunks {
    text: Vec<u8>,
    added: u64,
    removed: u64,
}

impl ConsumeHunk for DiffHunks {
    type Out = Self;

    fn consume_hunk(
        &mut self,
        header: HunkHeader,
        lines: &[(DiffLineKind, &[u8])],
    ) -> std::io::Result<()> {
        // As in git: a side without lines begins before its first.
        let range = |start: u32, length: u32| {
            format!(
                "{},{length}",
                if length == 0 {
                    start.saturating_sub(1)
                } else {
                    start
                }
            )
        };
        let (before, after) = (
            range(header.before_hunk_start, header.before_hunk_len),
            range(header.after_hunk_start, header.after_hunk_len),
        );
        self.text.push_str(format!("@@ -{before} +{after} @@\n"));
        for (kind, line) in lines {
            match kind {
                DiffLineKind::Add => self.added += 1,
                DiffLineKind::Remove => self.removed += 1,
                DiffLineKind::Context => {}
            }
            self.text.push_byte(match kind {
                DiffLineKind::Add => b'+',
                DiffLineKind::Remove => b'-',
                DiffLineKind::Context => b' ',
            });
            self.text.push_str(line);
            if !line.ends_with(b"\n") {
                self.text.push_str("\n\\ No newline at end of file\n");
            }
        }
        Ok(())
    }

    fn finish(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_written_as_git_writes_them() {
        assert_eq!(
            line_hunks(b"", b"a\nb\n"),
            ("@@ -0,0 +1,2 @@\n+a\n+b\n".into(), (2, 0))
        );
        assert_eq!(
            line_hunks(b"a\n", b""),
            ("@@ -1,1 +0,0 @@\n-a\n".into(), (0, 1))
        );
        let (text, lines) = line_hunks(
            b"1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            b"1\n2\n3\n4\nfive\n6\n7\n8\n9",
        );
        assert_eq!(
            text,
            "@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n\\ No newline at end of file\n"
        );
        assert_eq!(lines, (2, 2));
        assert_eq!(line_hunks(b"same\n", b"same\n"), (String::new(), (0, 0)));
        assert!(line_hunks(b"", b"\xff\n").0.contains('\u{fffd}'));
    }
}
