//! A system without room, known by the words of its errors: libraries hand on nothing else, and some of them panic with it.

/// Something that the system has no more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The missing resource.
    pub of: &'static str,
    /// The remedy.
    pub helps: &'static str,
}

const TASKS: Shortage = Shortage {
    of: "thread or process",
    helps: "end some processes, or raise ulimit -u or the limit of pids",
};
const MEMORY: Shortage = Shortage {
    of: "memory",
    helps: "end some processes, or raise ulimit -v or the limit of memory",
};
const FILES: Shortage = Shortage {
    of: "file descriptor",
    helps: "raise ulimit -n",
};

/// The error of the system in words, or as its kind.
const WORDS: [(&str, Shortage); 5] = [
    ("Resource temporarily unavailable", TASKS),
    ("WouldBlock", TASKS),
    ("Cannot allocate memory", MEMORY),
    ("OutOfMemory", MEMORY),
    ("Too many open files", FILES),
];

/// The shortage in the text of an error or a panic.
pub fn shortage_in(text: &str) -> Option<Shortage> {
    WORDS
        .iter()
        .find(|(word, _)| text.contains(word))
        .map(|(_, shortage)| *shortage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_shortage_is_distinguished_from_a_bug() {
        for (text, shortage) in [
            (
                "panicked at x:\nOS can't spawn worker thread: Resource temporarily unavailable (os error 11)",
                Some(TASKS),
            ),
            (
                r#"panicked at x:\nvalid name: Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }"#,
                Some(TASKS),
            ),
            (
                "Could not read loose object: Cannot allocate memory (os error 12)",
                Some(MEMORY),
            ),
            (
                "failed to open it: Too many open files (os error 24)",
                Some(FILES),
            ),
            ("panicked at x:\nindex out of bounds", None),
        ] {
            assert_eq!(shortage_in(text), shortage, "{text}");
        }
    }
}
