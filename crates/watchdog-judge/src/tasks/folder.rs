//! The files of the tasks. A bad file stops its own task and no other.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use watchdog_core::config::task_file::{TaskFile, has_front_matter, parse_task};
use watchdog_core::config::{ConfigError, ConfigProblem, MAX_BYTES};
use watchdog_system::{is_missing, read_regular_begin};

/// The folder of task files, unless the configuration names another.
pub const OWN: &str = ".watchdog/tasks";

/// The task folder of another program; read if the first is not there.
pub const OTHER: &str = ".tanuki/tasks";

/// More files than this are not read.
const MOST: usize = 2000;

/// A task with the file that it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedTask {
    /// The file.
    pub path: PathBuf,
    /// The same from the root of the work tree.
    pub relative: PathBuf,
    /// Its bytes, as they were read.
    pub bytes: Vec<u8>,
    /// The tasks in them.
    pub task: TaskFile,
}

/// A file that is no task, or whose id is ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0)]
pub struct InvalidTaskFile(pub ConfigError);

/// A folder of tasks, as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskFolder {
    /// The root of the work tree.
    pub root: Option<PathBuf>,
    /// The folder; `None` where there is none.
    pub path: Option<PathBuf>,
    /// Its tasks, by the names of their files.
    pub tasks: Vec<LoadedTask>,
    /// The read errors.
    pub problems: Vec<InvalidTaskFile>,
}

/// The folder of tasks of a work tree: `configured`, from its root; without that folder, and where it is the usual one, that of another
/// program.
fn locate_folder(root: &Path, configured: &str) -> Option<PathBuf> {
    let names: &[&str] = if configured == OWN {
        &[OWN, OTHER]
    } else {
        &[configured]
    };
    // A folder that the system does not show counts as there: reading it says why it cannot be
    // read.
    let is_folder = |path: &PathBuf| {
        path.metadata()
            .map_or_else(|error| !is_missing(&error), |about| about.is_dir())
    };
    names.iter().map(|name| root.join(name)).find(is_folder)
}

/// Reads every task of a work tree. `configured` is `tasks.dir`.
///
/// # Errors
/// Fails if the folder itself cannot be read, or leads out of the work tree.
pub fn read_folder(root: &Path, configured: &str) -> io::Result<TaskFolder> {
    let root_of = Some(root.to_owned());
    let Some(path) = locate_folder(root, configured) else {
        return Ok(TaskFolder {
            root: root_of,
            ..TaskFolder::default()
        });
    };
    let mut inside = InsideOf::new(root)?;
    if !inside.holds(&path)? {
        return Err(leads_out());
    }
    let files = task_files(&path)?;
    let mut folder = TaskFolder {
        root: root_of,
        path: Some(path.clone()),
        ..TaskFolder::default()
    };
    for (n, file) in files.into_iter().enumerate() {
        let relative = file.strip_prefix(root).unwrap_or(&file).to_owned();
        if n >= MOST {
            folder.problems.push(new_invalid_file(
                &relative,
                format!("more than {MOST} tasks; this file and what follows is not read"),
            ));
            break;
        }
        match inside.holds_file(&file).and_then(|inside| {
            if inside {
                read_task_file(&file)
            } else {
                Err(leads_out())
            }
        }) {
            // Words about the folder, not a task.
            Ok(bytes) if !has_front_matter(&bytes) && is_readme(&file) => {}
            Ok(bytes) => match parse_task(&bytes, &relative) {
                Ok(task) => folder.tasks.push(LoadedTask {
                    path: file,
                    relative,
                    bytes,
                    task,
                }),
                Err(error) => folder.problems.push(InvalidTaskFile(error)),
            },
            Err(error) => folder.problems.push(new_invalid_file(
                &relative,
                format!("failed to read the file: {error}"),
            )),
        }
    }
    leave_out_twins(&mut folder);
    Ok(folder)
}

fn leads_out() -> io::Error {
    io::Error::other("it leads out of the work tree")
}

/// Finds whether paths lead out of a work tree. Each folder is resolved once: a queue of hundreds of files is read every second.
struct InsideOf {
    root: PathBuf,
    folders: HashMap<PathBuf, bool>,
}

impl InsideOf {
    fn new(root: &Path) -> io::Result<Self> {
        Ok(InsideOf {
            root: root.canonicalize()?,
            folders: HashMap::new(),
        })
    }

    fn holds(&self, path: &Path) -> io::Result<bool> {
        Ok(path.canonicalize()?.starts_with(&self.root))
    }

    /// The same of a file. A file that is no link lies in its folder.
    fn holds_file(&mut self, file: &Path) -> io::Result<bool> {
        let Some(folder) = file.parent().filter(|_| !file.is_symlink()) else {
            return self.holds(file);
        };
        if let Some(inside) = self.folders.get(folder) {
            return Ok(*inside);
        }
        let inside = self.holds(folder)?;
        self.folders.insert(folder.to_owned(), inside);
        Ok(inside)
    }
}

/// The markdown files of a folder, and those of each folder in it that a README.md makes a project of another program, sorted.
fn task_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let is_markdown = |file: &PathBuf| {
        file.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() && !is_markdown(&path) {
            let inner = fs::read_dir(&path).and_then(|entries| {
                entries
                    .map(|entry| entry.map(|entry| entry.path()))
                    .collect::<io::Result<Vec<_>>>()
            });
            match inner {
                Ok(inner) if inner.iter().any(|file| is_readme(file)) => {
                    files.extend(inner.into_iter().filter(is_markdown))
                }
                Ok(_) => {}
                // A folder that cannot be read is named like a file that cannot be.
                Err(_) => files.push(path),
            }
        } else if is_markdown(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn is_readme(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("readme.md"))
}

/// Reads one task's file.
///
/// # Errors
/// Fails if it cannot be read, with the bytes' own faults left to [`parse_task`].
fn read_task_file(path: &Path) -> io::Result<Vec<u8>> {
    read_regular_begin(path, MAX_BYTES as u64 + 1)
}

fn new_invalid_file(relative: &Path, message: String) -> InvalidTaskFile {
    let problem = ConfigProblem {
        line: 1,
        column: 1,
        key: String::new(),
        message,
    };
    InvalidTaskFile(ConfigError {
        origin: relative.to_owned(),
        problems: vec![problem],
        more: 0,
    })
}

/// Two files with one id: neither is used, as the right one is unknown. File systems and branches do not always distinguish case.
fn leave_out_twins(folder: &mut TaskFolder) {
    let mut files: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for loaded in &folder.tasks {
        files
            .entry(loaded.task.id.to_ascii_lowercase())
            .or_default()
            .push(loaded.relative.clone());
    }
    files.retain(|_, files| files.len() > 1);
    folder
        .tasks
        .retain(|loaded| !files.contains_key(&loaded.task.id.to_ascii_lowercase()));
    let mut twins: Vec<_> = files.into_iter().collect();
    twins.sort();
    for (id, files) in twins {
        let names: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        for file in &files {
            let mut problem = new_invalid_file(
                file,
                format!(
                    "the id {id} is in {}; none of them is taken",
                    names.join(" and ")
                ),
            );
            problem
                .0
                .problems
                .iter_mut()
                .for_each(|problem| problem.key = "id".into());
            folder.problems.push(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn scene(files: &[(&str, &str)]) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        for (name, text) in files {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().expect("below the scratch folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        scratch
    }

    fn build_task_text(id: &str) -> String {
        format!("---\nid: {id}\ntitle: t\n---\nx\n")
    }

    fn ids(folder: &TaskFolder) -> Vec<&str> {
        folder
            .tasks
            .iter()
            .map(|loaded| loaded.task.id.as_str())
            .collect()
    }

    #[test]
    fn a_bad_file_stops_its_own_task_only() {
        let scene = scene(&[
            (".watchdog/tasks/good.md", &build_task_text("good")),
            (".watchdog/tasks/broken.md", "---\nid: x\ntitel: y\n---\n"),
            (".watchdog/tasks/none.md", "# nothing\n"),
            (".watchdog/tasks/README.md", "# what is here\n"),
            (".watchdog/tasks/notes.txt", "no"),
            (".watchdog/tasks/sub/deep.md", &build_task_text("deep")),
        ]);
        let folder = read_folder(scene.path(), OWN).expect("it is there");
        assert_eq!(ids(&folder), ["good"]);
        let problems: Vec<String> = folder.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with(".watchdog/tasks/broken.md:2:1: title: missing"),
            "{problems:?}"
        );
        assert!(
            problems[0].contains(
                ".watchdog/tasks/broken.md:3:1: titel: unknown key, did you mean `title`?"
            ),
            "{problems:?}"
        );
        assert!(
            problems[1].contains("none.md:1:1: no front matter"),
            "{problems:?}"
        );
    }

    #[test]
    fn files_sharing_an_id_are_both_refused() {
        let scene = scene(&[
            (".tanuki/tasks/a.md", &build_task_text("T1")),
            (".tanuki/tasks/b.md", &build_task_text("t1")),
            (".tanuki/tasks/c.md", &build_task_text("T2")),
        ]);
        let folder = read_folder(scene.path(), OWN).expect("it is there");
        assert_eq!((ids(&folder), folder.problems.len()), (vec!["T2"], 2));
        assert!(
            folder.problems[0].to_string().contains(
                "a.md:1:1: id: the id t1 is in .tanuki/tasks/a.md and .tanuki/tasks/b.md"
            )
        );
    }

    #[test]
    fn configured_folder_replaces_defaults_and_own_comes_first() {
        let scene = scene(&[
            (".tanuki/tasks/a.md", &build_task_text("a")),
            (".watchdog/tasks/b.md", &build_task_text("b")),
            ("todo/c.md", &build_task_text("c")),
        ]);
        assert_eq!(ids(&read_folder(scene.path(), OWN).expect("there")), ["b"]);
        assert_eq!(
            ids(&read_folder(scene.path(), "todo").expect("there")),
            ["c"]
        );
        assert_eq!(
            ids(&read_folder(scene.path(), "nowhere").expect("no error")),
            [""; 0]
        );
        assert_eq!(
            ids(&read_folder(scene.path(), OTHER).expect("there")),
            ["a"]
        );
    }

    #[test]
    fn outside_or_irregular_entries_are_not_read() {
        let scene = scene(&[
            ("outside/x.md", &build_task_text("x")),
            ("work/.watchdog/tasks/good.md", &build_task_text("good")),
        ]);
        let work = scene.path().join("work");
        symlink(
            scene.path().join("outside/x.md"),
            work.join(".watchdog/tasks/x.md"),
        )
        .expect("a link");
        symlink(scene.path().join("outside"), work.join("todo")).expect("a link");
        fs::create_dir(work.join("elsewhere")).expect("a folder");
        fs::write(work.join("elsewhere/in.md"), build_task_text("in")).expect("a file");
        symlink("../../elsewhere/in.md", work.join(".watchdog/tasks/in.md")).expect("a link");
        fs::create_dir(work.join(".watchdog/tasks/dir.md")).expect("a folder");
        let folder = read_folder(&work, OWN).expect("it is there");
        assert_eq!(
            (ids(&folder), folder.problems.len()),
            (vec!["good", "in"], 2),
            "{:?}",
            folder.problems
        );
        assert!(
            read_folder(&work, "todo")
                .expect_err("it leads out")
                .to_string()
                .contains("out of the work tree")
        );
    }
}
