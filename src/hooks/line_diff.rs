//! Two short texts side by side, as a person reads a patch. Pure; for settings files, whose changes are a few lines.

/// Lines around a change that do not change.
const AROUND: usize = 3;
/// More comparisons than this are not made: what differs is then shown as replaced in one piece.
const MOST: usize = 4_000_000;

/// One line of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// One of the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffSide {
    Old,
    New,
}

impl DiffLine<'_> {
    fn is_on(self, side: DiffSide) -> bool {
        match self {
            DiffLine::Same(_) => true,
            DiffLine::Gone(_) => side == DiffSide::Old,
            DiffLine::New(_) => side == DiffSide::New,
        }
    }
}

/// What changes from one text to the other, in the form of `diff -u`; empty where nothing does.
pub fn unified(before: &str, after: &str, name: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let lines = compare(&old, &new);
    let mut shown = format!("--- {name}\n+++ {name}\n");
    for (from, to) in hunks(&lines) {
        let place = |side: DiffSide| {
            let length = |lines: &[DiffLine<'_>]| lines.iter().filter(|line| line.is_on(side)).count();
            let (skipped, length) = (length(&lines[..from]), length(&lines[from..to]));
            // A side without lines names the line before it, as diff does.
            format!("{},{length}", if length == 0 { skipped } else { skipped + 1 })
        };
        shown.push_str(&format!("@@ -{} +{} @@\n", place(DiffSide::Old), place(DiffSide::New)));
        for line in &lines[from..to] {
            let (sign, text) = match line {
                DiffLine::Same(text) => (' ', text),
                DiffLine::Gone(text) => ('-', text),
                DiffLine::New(text) => ('+', text),
            };
            shown.push(sign);
            shown.push_str(text);
            if !text.ends_with('\n') {
                shown.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    shown
}

/// The ranges of lines to show: each change with what stands around it, those that touch in one.
fn hunks(lines: &[DiffLine<'_>]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| !matches!(line, DiffLine::Same(_))) {
        let (from, to) = (at.saturating_sub(AROUND), (at + 1 + AROUND).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => hunks.push((from, to)),
        }
    }
    hunks
}

/// The longest lines in common stay, everything else goes or comes.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (gone, came) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<DiffLine<'a>> = old[..head].iter().map(|line| DiffLine::Same(line)).collect();
    if gone.len().saturating_mul(came.len()) > MOST {
        lines.extend(gone.iter().map(|line| DiffLine::Gone(line)));
        lines.extend(came.iter().map(|line| DiffLine::New(line)));
    } else {
        middle(gone, came, &mut lines);
    }
    lines.extend(old[old.len() - tail..].iter().map(|line| DiffLine::Same(line)));
    lines
}

fn middle<'a>(gone: &[&'a str], came: &[&'a str], lines: &mut Vec<DiffLine<'a>>) {
    // common[i][j]: how many lines gone[i..] and came[j..] have in common, in order.
    let mut common = vec![vec![0_u32; came.len() + 1]; gone.len() + 1];
    for i in (0..gone.len()).rev() {
        for j in (0..came.len()).rev() {
            common[i][j] = if gone[i] == came[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < gone.len() || j < came.len() {
        if i < gone.len() && j < came.len() && gone[i] == came[j] {
            lines.push(DiffLine::Same(gone[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == came.len() || (i < gone.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(DiffLine::Gone(gone[i]));
            i += 1;
        } else {
            lines.push(DiffLine::New(came[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_shown_with_what_stands_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let after = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk";
        expect_test::expect![[r"
            --- s.json
            +++ s.json
            @@ -1,5 +1,5 @@
             a
            -b
            +B
             c
             d
             e
            @@ -8,3 +8,4 @@
             h
             i
             j
            +k
            \ No newline at end of file
        "]]
        .assert_eq(&unified(before, after, "s.json"));
        assert_eq!(unified(before, before, "s.json"), "");
        assert_eq!(unified("", "a\n", "s"), "--- s\n+++ s\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("a\n", "", "s"), "--- s\n+++ s\n@@ -1,1 +0,0 @@\n-a\n");
    }

    proptest! {
        #[test]
        fn both_texts_can_be_read_off_a_comparison(
            old in prop::collection::vec("[ab]{0,1}\n", 0..12), new in prop::collection::vec("[ab]{0,1}\n", 0..12)
        ) {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
            let lines = compare(&old, &new);
            let side = |drop: fn(&DiffLine<'_>) -> bool| {
                let kept = lines.iter().filter(|line| !drop(line));
                kept.map(|line| match line { DiffLine::Same(text) | DiffLine::Gone(text) | DiffLine::New(text) => *text }).collect::<Vec<_>>()
            };
            prop_assert_eq!(side(|line| matches!(line, DiffLine::New(_))), old);
            prop_assert_eq!(side(|line| matches!(line, DiffLine::Gone(_))), new);
        }
    }
}
