//! Two short texts side by side, as a person reads a patch; for settings files, whose changes are a few lines.

use watchdog_git::line_hunks;

/// The difference of two texts, in the form of `diff -u`; empty where they are equal.
pub fn format_unified_diff(before: &str, after: &str, name: &str) -> String {
    match line_hunks(before.as_bytes(), after.as_bytes()) {
        (hunks, _) if hunks.is_empty() => hunks,
        (hunks, _) => format!("--- {name}\n+++ {name}\n{hunks}"),
    }
}

#[cfg(test)]
mod tests {
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
        .assert_eq(&format_unified_diff(before, after, "s.json"));
        assert_eq!(format_unified_diff(before, before, "s.json"), "");
        assert_eq!(
            format_unified_diff("", "a\n", "s"),
            "--- s\n+++ s\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(
            format_unified_diff("a\n", "", "s"),
            "--- s\n+++ s\n@@ -1,1 +0,0 @@\n-a\n"
        );
    }
}
