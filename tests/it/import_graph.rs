//! Which source files import which, and which of them import each other in a circle. A name that a `mod.rs` or `lib.rs` re-exports
//! counts as the file that defines it, so that a list of re-exports makes no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// A line that brings in names: whether it passes them on, and the tree of paths.
static USE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("a fixed pattern")
});

/// Words with `::` between them, wherever they stand.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\w+(?:::\w+)+").expect("a fixed pattern"));

/// A path such as `super::open::Worktree`, word by word.
type Words = Vec<String>;

/// One name that a `use` brings in.
struct Import {
    public: bool,
    path: Words,
    name: String,
}

/// One file of a crate.
struct ImportingFile<'s> {
    name: &'s str,
    text: &'s str,
    /// Where it stands in the tree of modules.
    module: Words,
    imports: Vec<Import>,
}

impl ImportingFile<'_> {
    /// Whether it only lists what its folder holds.
    fn is_front(&self) -> bool {
        self.name.ends_with("/mod.rs") || self.name.ends_with("/lib.rs")
    }
}

/// What a path leads to.
struct Target {
    file: usize,
    /// Whether the path ends at the file's module, and not at a name in it.
    is_module: bool,
}

/// The files of one crate, and its tree of modules.
struct CrateTree<'s> {
    files: Vec<ImportingFile<'s>>,
    modules: BTreeMap<Words, usize>,
}

/// The circles of imports among these files, the largest first. Each file has a name with `/src/` in it and a text without comments.
/// A crate cannot import one that imports it, so each crate is looked at by itself.
pub fn circles<'s>(sources: impl Iterator<Item = (&'s str, &'s str)>) -> Vec<Vec<&'s str>> {
    let mut crates: BTreeMap<&str, Vec<ImportingFile<'s>>> = BTreeMap::new();
    for (name, text) in sources.filter(|(name, _)| !name.ends_with("src/main.rs")) {
        let (krate, path) = name
            .split_once("src/")
            .expect("every source is below a src folder");
        crates.entry(krate).or_default().push(ImportingFile {
            name,
            text,
            module: module_of(path),
            imports: imports(text),
        });
    }
    let mut found: Vec<Vec<&str>> = crates
        .into_values()
        .flat_map(|files| CrateTree::new(files).circles())
        .collect();
    found.sort_by_key(|circle| (usize::MAX - circle.len(), circle[0]));
    found
}

/// `a/b.rs` and `a/b/mod.rs` are both the module `a::b`.
fn module_of(path: &str) -> Words {
    let mut words: Words = path
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    words.pop_if(|last| *last == "mod" || *last == "lib");
    words
}

/// Everything that the `use` lines of a file bring in.
fn imports(text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for used in USE_LINE.captures_iter(text) {
        for (path, name) in paths_of_tree(&used[2], &[]) {
            found.push(Import {
                public: used.get(1).is_some(),
                path,
                name,
            });
        }
    }
    found
}

/// `a::{b, c as d}` as `a::b` called `b` and `a::c` called `d`.
fn paths_of_tree(tree: &str, above: &[String]) -> Vec<(Words, String)> {
    let words = |path: &str| {
        path.split("::")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Words>()
    };
    let Some((head, group)) = tree.split_once('{') else {
        let (path, alias) = tree
            .split_once(" as ")
            .map_or((tree, None), |(path, alias)| {
                (path, Some(alias.trim().to_owned()))
            });
        let mut path = [above, &words(path)].concat();
        path.pop_if(|last| *last == "self");
        let name = alias.or_else(|| path.last().cloned());
        return name.into_iter().map(|name| (path.clone(), name)).collect();
    };
    let above = [above, &words(head)].concat();
    let group = group
        .trim_end()
        .strip_suffix('}')
        .expect("rustc refuses a group without an end");
    let mut depth = 0;
    let parts = group.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| paths_of_tree(part, &above))
        .collect()
}

impl<'s> CrateTree<'s> {
    fn new(files: Vec<ImportingFile<'s>>) -> Self {
        let modules = files
            .iter()
            .enumerate()
            .map(|(at, file)| (file.module.clone(), at))
            .collect();
        CrateTree { files, modules }
    }

    fn circles(&self) -> Vec<Vec<&'s str>> {
        let imported: Vec<BTreeSet<usize>> = (0..self.files.len())
            .map(|at| self.imported_by(at))
            .collect();
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len())
            .map(|at| reached_from(at, &imported))
            .collect();
        let mut found = BTreeSet::new();
        for at in (0..self.files.len()).filter(|at| reached[*at].contains(at)) {
            found.insert(
                reached[at]
                    .iter()
                    .copied()
                    .filter(|other| reached[*other].contains(&at))
                    .collect::<Vec<_>>(),
            );
        }
        found
            .into_iter()
            .map(|circle| circle.into_iter().map(|at| self.files[at].name).collect())
            .collect()
    }

    /// The files that one file names in its `use` lines and in the middle of its code.
    fn imported_by(&self, at: usize) -> BTreeSet<usize> {
        let file = &self.files[at];
        let mut bound: BTreeMap<&str, Words> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for import in &file.imports {
            let Some(mut path) = self.below_root(&file.module, &import.path) else {
                continue;
            };
            path.pop_if(|last| *last == "*");
            let target = self.resolve(&path, &mut Vec::new());
            if target.is_module {
                bound.insert(&import.name, path);
            }
            // A folder that is imported is nothing yet: what is taken from it is named later.
            if !(import.public && file.is_front()
                || target.is_module && self.files[target.file].is_front())
            {
                found.insert(target.file);
            }
        }
        for path in PATH.find_iter(&USE_LINE.replace_all(file.text, "")) {
            let path: Words = path.as_str().split("::").map(str::to_owned).collect();
            let start = bound
                .get(path[0].as_str())
                .map(|module| [module, &path[1..]].concat());
            if let Some(path) = start.or_else(|| self.below_root(&file.module, &path)) {
                found.insert(self.resolve(&path, &mut Vec::new()).file);
            }
        }
        found.remove(&at);
        found
    }

    /// A path that a module names, from the root of its crate; `None` where it leads into another crate.
    fn below_root(&self, module: &[String], path: &[String]) -> Option<Words> {
        let first = path.first()?;
        match first.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                Some([module.get(..module.len().checked_sub(up)?)?, &path[up..]].concat())
            }
            _ => {
                let below = [module, path].concat();
                self.modules
                    .contains_key(&below[..=module.len()])
                    .then_some(below)
            }
        }
    }

    /// The file that a path from the root leads to, through whatever re-exports it. `seen` keeps a re-export of itself from going on
    /// for ever.
    fn resolve(&self, path: &[String], seen: &mut Vec<Words>) -> Target {
        let depth = (0..=path.len())
            .rev()
            .find(|depth| self.modules.contains_key(&path[..*depth]))
            .unwrap_or(0);
        let file = self
            .modules
            .get(&path[..depth])
            .copied()
            .expect("every crate has a lib.rs");
        let Some(name) = path.get(depth) else {
            return Target {
                file,
                is_module: true,
            };
        };
        let here = &self.files[file];
        if !seen.contains(&path.to_vec()) {
            seen.push(path.to_vec());
            let passed_on = || {
                here.imports
                    .iter()
                    .filter(|import| import.public || here.is_front())
            };
            let by_name = passed_on()
                .filter(|import| import.name == *name)
                .map(|import| (&import.path[..], &path[depth + 1..]));
            // A file with items of its own is left at its own name: what it passes on as a whole, it imports itself.
            let everything = passed_on()
                .filter(|_| here.is_front())
                .filter_map(|import| {
                    Some((import.path.strip_suffix(&["*".to_owned()])?, &path[depth..]))
                });
            for (from, rest) in by_name.chain(everything) {
                if let Some(start) = self.below_root(&here.module, from) {
                    return self.resolve(&[&start, rest].concat(), seen);
                }
            }
        }
        Target {
            file,
            is_module: false,
        }
    }
}

/// Every file that one file leads to.
fn reached_from(at: usize, imported: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![at];
    while let Some(next) = open.pop() {
        open.extend(
            imported[next]
                .iter()
                .filter(|other| reached.insert(**other)),
        );
    }
    reached
}

fn circles_of(sources: &[(&'static str, &'static str)]) -> Vec<Vec<&'static str>> {
    circles(sources.iter().copied())
}

#[test]
fn imports_through_a_reexport_form_a_circle() {
    let front = (
        "src/lib.rs",
        "mod a;\nmod b;\nmod c;\npub use a::{One, Other as Renamed};\npub use b::Two;\n",
    );
    let a = ("src/a.rs", "use super::b::Two;\npub struct One;\n");
    let c = ("src/c.rs", "use crate::{One, Two};\n");
    assert_eq!(
        circles_of(&[front, a, ("src/b.rs", "use crate::One;\n"), c]),
        [["src/a.rs", "src/b.rs"]]
    );
    assert_eq!(
        circles_of(&[front, a, ("src/b.rs", "use crate::Renamed;\n"), c]),
        [["src/a.rs", "src/b.rs"]]
    );
    let front_of_all = (
        "src/lib.rs",
        "mod a;\nmod b;\npub use a::*;\npub use b::*;\n",
    );
    assert_eq!(
        circles_of(&[front_of_all, a, ("src/b.rs", "use crate::One;\n")]),
        [["src/a.rs", "src/b.rs"]]
    );
    assert!(
        circles_of(&[front, a, ("src/b.rs", "pub struct Two;\n"), c]).is_empty(),
        "lists of re-exports are no files of a circle"
    );
}

#[test]
fn groups_aliases_and_inline_paths_are_imports() {
    let front = ("src/lib.rs", "mod a;\nmod deep;\n");
    let deep = ("src/deep/mod.rs", "mod b;\npub(super) use b::work;\n");
    for import in [
        "use crate::{x, deep::{b::{self as other, work}, c}};",
        "use super::deep;\nfn f() { deep::work(); }",
        "use super::deep as d;\nfn f() { d::b::work(); }",
        "fn f() { crate::deep::work(); }",
        "use crate::deep::b::*;",
    ] {
        let found = circles(
            [
                front,
                deep,
                ("src/a.rs", import),
                (
                    "src/deep/b.rs",
                    "fn f() { super::super::a::f() }\nfn work() {}\n",
                ),
            ]
            .into_iter(),
        );
        assert_eq!(found, [["src/a.rs", "src/deep/b.rs"]], "{import}");
    }
}

#[test]
fn circles_are_per_crate_with_the_largest_first() {
    let found = circles_of(&[
        ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
        ("crates/x/src/a.rs", "use super::b::B;"),
        ("crates/x/src/b.rs", "use super::a::A;"),
        ("src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
        ("src/a.rs", "use super::b::B;"),
        ("src/b.rs", "use super::c::C;"),
        ("src/c.rs", "use super::a::A;"),
    ]);
    assert_eq!(
        found,
        [
            vec!["src/a.rs", "src/b.rs", "src/c.rs"],
            vec!["crates/x/src/a.rs", "crates/x/src/b.rs"]
        ]
    );
}
