//! The data of `init`: build files and their checks, lists of work, guarded files, and files of
//! other programs. A new ecosystem is a line here and a row of the table in `tests/it/init.rs`.

/// The language of task runners, which run tests where no other language does.
pub const TASKS: &str = "tasks";

/// A line has a language, the files that show it, files that must be there besides, and a command.
/// The first line of a language that fits a folder is proposed for it.
///
/// Any one file of a column is enough; `=` stands for the files of the language's first line.
/// `name:text` asks for a text in the file, `name#target` for a script, target or recipe. `*` is
/// any part of a name. `^` looks in the folders above as well, `**/` in the folders below. `build:`
/// begins a command that runs no tests.
const BUILD_CHECKS: &str = "\
rust | Cargo.toml:[workspace | **/*.rs:test] | cargo test --workspace
rust | Cargo.toml:[workspace | | build: cargo build --workspace
rust | Cargo.toml:[package | **/*.rs:test] | cargo test
rust | Cargo.toml:[package | | build: cargo build
node | package.json#test | ^pnpm-lock.yaml, ^pnpm-workspace.yaml, ^package.json:pnpm@ | pnpm test
node | package.json#test | ^yarn.lock, ^package.json:yarn@ | yarn test
node | package.json#test | ^bun.lock, ^bun.lockb, ^package.json:bun@ | bun run test
node | package.json#test | | npm test
node | pnpm-workspace.yaml | **/package.json#test | pnpm -r test
python | pytest.ini, .pytest.ini, conftest.py, pyproject.toml:pytest, setup.cfg:[tool:pytest], \
  tox.ini:[pytest], requirements*.txt:pytest, dev-requirements.txt:pytest, test_*.py, *_test.py, \
  tests/**/test_*.py, tests/**/*_test.py, test/**/test_*.py | ^uv.lock | uv run pytest
python | = | ^poetry.lock | poetry run pytest
python | = | .venv/bin/pytest | .venv/bin/pytest
python | = | venv/bin/pytest | venv/bin/pytest
python | tox.toml, tox.ini:[tox, tox.ini:[testenv, pyproject.toml:[tool.tox, setup.cfg:[tox: | | tox
python | noxfile.py:def tests( | | nox -s tests
python | noxfile.py:def test( | | nox -s test
python | = | | pytest
go | go.mod | **/*_test.go | go test ./...
go | go.mod | | build: go build ./...
java | pom.xml | mvnw | ./mvnw -q test
java | pom.xml | | mvn -q test
java | build.gradle, build.gradle.kts, settings.gradle* | gradlew | ./gradlew test
java | build.gradle, build.gradle.kts, settings.gradle* | | gradle test
c | CMakeLists.txt:enable_testing, CMakeLists.txt:include(CTest | | \
  cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure
c | CMakeLists.txt:project | | build: cmake -B build && cmake --build build
ruby | .rspec, Gemfile:rspec, *.gemspec:rspec | Gemfile | bundle exec rspec
ruby | = | | rspec
ruby | Rakefile | bin/rails | bin/rails test
ruby | Rakefile:test | Gemfile | bundle exec rake test
ruby | Rakefile:test | | rake test
php | composer.json#test | | composer test
php | composer.json:pestphp/pest | | vendor/bin/pest
php | phpunit.xml, phpunit.xml.dist, phpunit.dist.xml | | vendor/bin/phpunit
php | composer.json:phpunit/phpunit | tests/**/*Test.php | vendor/bin/phpunit tests
dotnet | *.sln, *.slnx, *.csproj, *.fsproj, *.vbproj | **/*.csproj:Test.Sdk, \
  **/*.fsproj:Test.Sdk, **/*.vbproj:Test.Sdk | dotnet test
dotnet | = | | build: dotnet build
elixir | mix.exs | **/*_test.exs | mix test
elixir | mix.exs | | build: mix compile
swift | Package.swift:.testTarget | | swift test
swift | Package.swift | | build: swift build
tasks | GNUmakefile#test, makefile#test, Makefile#test | | make test
tasks | GNUmakefile#check, makefile#check, Makefile#check | | make check
tasks | justfile#test, Justfile#test, .justfile#test | | just test
tasks | justfile#check, Justfile#check, .justfile#check | | just check
";

/// Lists of features, then plans. `{branch}` stands for the name of the branch.
pub const FEATURE_LISTS: &str = "feature_list.json prd.json";
/// Plans and lists of boxes.
pub const PLANS: &str = "plan.json tasks.md TASKS.md fix_plan.md @fix_plan.md plan.md PLAN.md \
    IMPLEMENTATION_PLAN.md TODO.md specs/{branch}/tasks.md .spec-workflow/specs/{branch}/tasks.md";
/// A list of wishes is never done, so that it is offered only.
pub const WISHES: &str = "TODO.md";

/// Files of continuous integration and folders of tests, which a session seldom has to change.
pub const GUARDED: &str = ".github/workflows .gitlab-ci.yml .circleci .forgejo/workflows \
    .gitea/workflows .buildkite .woodpecker.yml .travis.yml azure-pipelines.yml \
    bitbucket-pipelines.yml Jenkinsfile tests test spec __tests__ e2e";

/// Folders that hold what others wrote, or what was built.
pub const BUILT_FOLDERS: &str =
    "node_modules target vendor venv dist build third_party site-packages";
/// Folders whose build files are no projects of their own: tests, examples and documents.
pub const NO_PROJECTS: &str = "tests test spec __tests__ fixtures __fixtures__ testdata examples \
    example samples templates docs doc benches";

/// Files of other programs, what is left alone, and the page that helps.
pub const FOREIGN: &str = "\
.agent/*/agent.json | its verdict is not taken over; use --config, or see | configuration.md
config.json:\"specs_subdir\" | its limits are not taken over; use --config, or see | configuration.md
.ralphrc | its limits are not taken over; see limits and breaker in | configuration.md
.ralph/fix_plan.md | its steps are no check yet; see plan in | configuration.md
tanuki.yaml | its folder of tasks is not taken over; see tasks.dir in | tasks.md
";

/// Whether a list of words has a word.
pub fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// A line of the table of build files.
#[derive(Debug, Clone, Copy)]
pub struct BuildRow {
    /// The language, of which a folder gets one check.
    pub language: &'static str,
    /// The files that show it, with commas between them.
    pub files: &'static str,
    /// The files that must be there besides; empty where there is no such condition.
    pub besides: &'static str,
    /// The name of the check.
    pub name: &'static str,
    /// The command for `sh -c`.
    pub run: &'static str,
}

/// The lines of the table of build files, those of a language beside each other.
pub fn build_rows() -> Vec<BuildRow> {
    let mut rows: Vec<BuildRow> = Vec::new();
    for line in BUILD_CHECKS.lines() {
        let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
        let [language, files, besides, command] = columns[..] else {
            continue;
        };
        let first_row = rows.iter().find(|row| row.language == language);
        let files = match (files, first_row) {
            ("=", Some(first_row)) => first_row.files,
            _ => files,
        };
        let (name, run) = match command.strip_prefix("build: ") {
            Some(run) => ("build", run),
            None => ("tests", command),
        };
        rows.push(BuildRow {
            language,
            files,
            besides,
            name,
            run,
        });
    }
    rows
}
