//! Splits a line for a POSIX shell into its commands, to see which programs it names. Pure, and no shell: nothing is expanded.
//!
//! A parser of the whole grammar is not needed: quotes, pipes, lists, groups, substitutions, redirections and here-documents are what
//! stands between a person's words and the name of a program. What cannot be known without running the line stays a word with `$` in it,
//! which names no program.

/// The longest line that is read.
const LINE: usize = 256 << 10;
/// The most commands that are taken from a line.
const COMMANDS: usize = 256;
/// How deep substitutions are followed.
const DEPTH: usize = 4;
/// Words before a command that are no program.
const KEYWORDS: [&str; 11] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "coproc",
];

/// The commands of a line: each its words, without quotes, assignments before it, and redirections.
pub fn commands_of(line: &str) -> Vec<Vec<String>> {
    let end = line.floor_char_boundary(LINE.min(line.len()));
    let mut reader = ShellReader {
        rest: line[..end].chars().collect(),
        at: 0,
        depth: 0,
        found: Vec::new(),
    };
    reader.read(None);
    reader.found
}

/// Whether a word in front of a command sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct ShellReader {
    rest: Vec<char>,
    at: usize,
    depth: usize,
    found: Vec<Vec<String>>,
}

/// A command while it is read.
#[derive(Default)]
struct OpenCommand {
    words: Vec<String>,
    /// The word that has begun; an empty one in quotes is a word, too.
    word: Option<String>,
    next: NextWord,
    /// Here-documents whose text begins with the next line: how each ends, and whether tabs before that count.
    documents: Vec<(String, bool)>,
}

/// What the next word is.
#[derive(Default, Clone, Copy, PartialEq)]
enum NextWord {
    #[default]
    Part,
    /// The file of a redirection.
    File,
    /// The end of a here-document; whether tabs are taken from its lines.
    Document(bool),
}

impl OpenCommand {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.next) {
            NextWord::Part => self.words.push(word),
            NextWord::File => {}
            NextWord::Document(tabs) => self.documents.push((word, tabs)),
        }
    }
}

impl ShellReader {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn takes(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads commands to the end, or to the character that ends a substitution.
    fn read(&mut self, until: Option<char>) {
        let mut open = OpenCommand::default();
        let mut groups = 0_usize;
        while let Some(c) = self.next() {
            match c {
                c if Some(c) == until && groups == 0 => break,
                '\\' => {
                    if let Some(c) = self.next().filter(|c| *c != '\n') {
                        open.push(c);
                    }
                }
                '\'' => self.quoted(&mut open),
                '"' => self.in_double_quotes(&mut open),
                '$' => self.dollar(&mut open),
                '`' => self.substitution(&mut open, '`'),
                '\n' => {
                    self.end_command(&mut open);
                    self.skip_documents(&mut open);
                }
                '&' if self.peek() == Some('>') => {}
                ';' | '&' | '|' => self.end_command(&mut open),
                '(' => {
                    self.end_command(&mut open);
                    groups += 1;
                }
                ')' if groups > 0 => {
                    groups -= 1;
                    self.end_command(&mut open);
                }
                // A pattern of `case`.
                ')' => (open.words, open.word) = (Vec::new(), None),
                '<' | '>' => self.redirection(&mut open, c),
                '#' if open.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                c if c.is_whitespace() => open.end_word(),
                c => open.push(c),
            }
        }
        self.end_command(&mut open);
    }

    fn quoted(&mut self, open: &mut OpenCommand) {
        open.word.get_or_insert_default();
        while let Some(c) = self.next().filter(|c| *c != '\'') {
            open.push(c);
        }
    }

    fn in_double_quotes(&mut self, open: &mut OpenCommand) {
        open.word.get_or_insert_default();
        while let Some(c) = self.next().filter(|c| *c != '"') {
            match c {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => open.push(c),
                    Some(c) => {
                        open.push('\\');
                        open.push(c);
                    }
                },
                '$' if self.peek() == Some('(') => self.dollar(open),
                '`' => self.substitution(open, '`'),
                c => open.push(c),
            }
        }
    }

    fn dollar(&mut self, open: &mut OpenCommand) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.substitution(open, ')');
            }
            Some('\'') => {
                self.at += 1;
                self.quoted(open);
            }
            _ => open.push('$'),
        }
    }

    /// The commands of a substitution run, too; what they print is not known.
    fn substitution(&mut self, open: &mut OpenCommand, end: char) {
        open.push('$');
        self.depth += 1;
        if self.depth <= DEPTH {
            self.read(Some(end));
        } else {
            // Deeper than anybody writes: the rest of the line is not read.
            self.at = self.rest.len();
        }
        self.depth -= 1;
    }

    fn redirection(&mut self, open: &mut OpenCommand, sign: char) {
        if open
            .word
            .as_deref()
            .is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()))
        {
            open.word = None;
        }
        open.end_word();
        if self.peek() == Some('(') {
            self.at += 1;
            return self.substitution(open, ')');
        }
        if sign == '<' && self.takes('<') {
            if self.takes('<') {
                open.next = NextWord::File;
            } else {
                open.next = NextWord::Document(self.takes('-'));
            }
            return;
        }
        while self.peek().is_some_and(|c| matches!(c, '>' | '&' | '|')) {
            self.at += 1;
        }
        open.next = NextWord::File;
    }

    fn end_command(&mut self, open: &mut OpenCommand) {
        open.end_word();
        open.next = NextWord::Part;
        let words = std::mem::take(&mut open.words);
        let mut words = words
            .into_iter()
            .skip_while(|word| KEYWORDS.contains(&word.as_str()) || is_assignment(word))
            .peekable();
        if words.peek().is_some() && self.found.len() < COMMANDS {
            self.found.push(words.collect());
        }
    }

    /// The text of a here-document is no command.
    fn skip_documents(&mut self, open: &mut OpenCommand) {
        for (end, tabs) in std::mem::take(&mut open.documents) {
            while self.at < self.rest.len() {
                let length = self.rest[self.at..]
                    .iter()
                    .position(|c| *c == '\n')
                    .unwrap_or(self.rest.len() - self.at);
                let line: String = self.rest[self.at..self.at + length].iter().collect();
                self.at = (self.at + length + 1).min(self.rest.len());
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_split_as_a_shell_splits_it() {
        for (line, expected) in [
            ("codex exec 'do it' | tee log", "codex exec [do it];tee log"),
            ("A=1 B='x y' codex exec", "codex exec"),
            (
                "cd x && codex exec >out 2>&1; echo done",
                "cd x;codex exec;echo done",
            ),
            ("codex exec &> all.log &", "codex exec"),
            ("if codex exec; then echo ok; fi", "codex exec;echo ok;fi"),
            (
                "while ! claude -p; do sleep 1; done",
                "claude -p;sleep 1;done",
            ),
            ("( gemini -p x ) || { qwen -p y; }", "gemini -p x;qwen -p y"),
            (
                "echo \"$(codex exec x)\" '$(claude)'",
                "codex exec x;echo $ [$(claude)]",
            ),
            ("x=`opencode run y`", "opencode run y"),
            (
                "codex exec - <<EOF\nclaude -p\nEOF\necho end",
                "codex exec -;echo end",
            ),
            (
                "codex exec - <<-'EOF'\n\tclaude\n\tEOF\nls",
                "codex exec -;ls",
            ),
            ("codex exec <<< \"claude -p\"", "codex exec"),
            ("echo hi # | claude\nls", "echo hi;ls"),
            (
                "case $x in\n codex) echo 1;;\n *) gemini;;\nesac",
                "case $x in;echo 1;gemini;esac",
            ),
            ("\\codex exec a\\ b", "codex exec [a b]"),
            (
                "cat f | codex exec > >(tee log)",
                "cat f;tee log;codex exec",
            ),
            ("\"$HOME/bin/codex\" exec", "$HOME/bin/codex exec"),
            ("", ""),
            ("'unclosed", "unclosed"),
        ] {
            let shown = |word: &String| {
                if word.contains(' ') || word.contains('(') {
                    format!("[{word}]")
                } else {
                    word.clone()
                }
            };
            let commands: Vec<String> = commands_of(line)
                .iter()
                .map(|words| words.iter().map(shown).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(commands.join(";"), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_to_its_end(line in "[ -~\n]{0,300}") {
            prop_assert!(commands_of(&line).len() <= COMMANDS);
        }

        #[test]
        fn a_quoted_text_names_no_program(text in "[a-z |;&()<>$`#]{0,60}") {
            let commands = commands_of(&format!("echo '{text}'"));
            prop_assert_eq!(commands, vec![vec!["echo".to_owned(), text]]);
        }
    }

    #[test]
    fn a_deep_or_endless_line_is_left_at_its_bounds() {
        assert!(commands_of(&"$(".repeat(100_000)).len() <= COMMANDS);
        assert!(commands_of(&"a;".repeat(1_000_000)).len() <= COMMANDS);
        assert!(commands_of(&"(".repeat(1_000_000)).is_empty());
    }
}
