//! What it costs a command that its machine is in a fleet, whatever state the server is in.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cluster::BenchCluster;
use super::process::{Contender, Cost, alternate};
use super::repository::{Shape, git};
use super::{Bench, Result};

/// The states that a server can be in.
const STATES: [&str; 5] = ["up", "down", "silent", "read-only", "full"];

/// A repository on a machine of its own.
struct JoinedMachine {
    repo: PathBuf,
}

/// What is measured on each machine.
struct MeasuredCommand<'a> {
    name: &'a str,
    args: Vec<&'a str>,
    /// Runs before each time, unmeasured, after a pause: what the command before left at work, a process that copies, is done then.
    before: Option<&'a str>,
    codes: &'a [i32],
    /// It is run in one of so many rounds.
    share: usize,
}

/// Alone, and in each state of the server.
pub fn measure(bench: &Bench) -> Result<()> {
    let server = BenchCluster::start()?;
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let silent_port = silent.local_addr()?.port();
    // Accepts, and never says a word.
    std::thread::spawn(move || {
        silent
            .incoming()
            .map_while(|way| way.ok())
            .collect::<Vec<_>>()
    });
    let alone = JoinedMachine {
        repo: bench.repository(Shape {
            name: "alone",
            commits: 20,
            files: 50,
            remote_branches: 0,
        })?,
    };
    let mut machines = vec![alone];
    for state in STATES {
        let repo = bench.repository(Shape {
            name: state,
            commits: 20,
            files: 50,
            remote_branches: 0,
        })?;
        join(bench, &server, &repo, state, silent_port)?;
        machines.push(JoinedMachine { repo });
    }
    let machines: [JoinedMachine; STATES.len() + 1] = machines
        .try_into()
        .map_err(|_| "one machine for each state")?;
    for machine in &machines {
        for (key, value) in [("user.name", "a"), ("user.email", "a@example.org")] {
            git(&machine.repo, &["config", key, value])?;
        }
        alternate(
            &[bench.watchdog(&machine.repo, &["snapshot", "--spec", "bench"])],
            1,
        )?;
    }
    let single = bench.scratch.join("single.json");
    fs::write(&single, r#"{"version": 1, "rescue": {"mode": "single"}}"#)?;
    let single = single.to_string_lossy();
    let commit = "date +%N >> counter; git commit -qam 'feat: more'";
    let work = |word: &'static str| {
        [
            word,
            "--json",
            "--no-probe",
            "--spec",
            "bench",
            "--",
            "sh",
            "-c",
            commit,
        ]
    };
    let check = vec!["check", "--json", "--no-probe", "--spec", "bench"];
    let rescue = vec!["--config", &single, "rescue", "--json", "--spec", "bench"];
    let sweep = vec!["sweep", "--json", "-q", "--no-probe"];
    let commands = [
        MeasuredCommand {
            name: "check",
            args: check,
            before: None,
            codes: &[0, 10],
            share: 1,
        },
        MeasuredCommand {
            name: "rescue",
            args: rescue,
            before: Some("date +%N >> counter"),
            codes: &[0, 10],
            share: 2,
        },
        MeasuredCommand {
            name: "sweep",
            args: sweep,
            before: None,
            codes: &[0, 10],
            share: 1,
        },
        MeasuredCommand {
            name: "run",
            args: work("run").into(),
            before: None,
            codes: &[0],
            share: 2,
        },
        MeasuredCommand {
            name: "loop of one iteration",
            args: work("loop").into(),
            before: None,
            codes: &[0],
            share: 2,
        },
    ];
    for MeasuredCommand {
        name,
        args,
        before,
        codes,
        share,
    } in commands
    {
        let contenders: [Contender; STATES.len() + 1] = std::array::from_fn(|n| {
            let repo = &machines[n].repo;
            let mut contender = bench.watchdog(repo, &args);
            contender.codes = codes.to_vec();
            let before = format!("sleep 0.2; {}", before.unwrap_or_default());
            contender.after(["sh", "-c", &before].map(OsString::from).into())
        });
        let [alone, joined @ ..] = alternate(&contenders, bench.rounds / share + 1)?;
        for (state, joined) in STATES.iter().zip(joined) {
            print(&format!("{name}, server {state}"), alone, joined);
        }
    }
    Ok(())
}

fn print(what: &str, alone: Cost, joined: Cost) {
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let (ours, theirs) = (millis(joined.wall), millis(alone.wall));
    let cpu = joined.cpu.as_secs_f64() / alone.cpu.as_secs_f64();
    println!(
        "| {what} | {ours:.2} ms | in no fleet | {theirs:.2} ms | {:+.2} ms | {cpu:.2}x | |",
        ours - theirs
    );
}

/// Lets the machine of a repository join a fleet of its own, whose server then comes into this state.
fn join(
    bench: &Bench,
    server: &BenchCluster,
    repo: &Path,
    state: &str,
    silent_port: u16,
) -> Result<()> {
    let database = format!("fleet_{}", state.replace('-', "_"));
    server.sql(
        "postgres",
        &format!("CREATE DATABASE {database} OWNER owner"),
    )?;
    let init = bench.watchdog(
        repo,
        &[
            "fleet",
            "init",
            &server.address_of(&database, "owner", server.port()),
            "--worker",
            "worker",
        ],
    );
    let join = bench.watchdog(
        repo,
        &[
            "fleet",
            "join",
            &server.address_of(&database, "worker", server.port()),
            "--name",
            state,
            "--account",
            "team",
        ],
    );
    alternate(&[init.then(join)], 0)?;
    match state {
        "down" => lead_to(repo, server.port(), 1)?,
        "silent" => lead_to(repo, server.port(), silent_port)?,
        "read-only" => drop(server.sql("postgres", &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"))?),
        "full" => drop(server.sql(
            &database,
            "CREATE FUNCTION watchdog.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$; \
             CREATE TRIGGER full_disk BEFORE INSERT ON watchdog.event FOR EACH ROW EXECUTE FUNCTION watchdog.full_disk();",
        )?),
        _ => {}
    }
    Ok(())
}

/// Has the setting of a machine name another port.
fn lead_to(repo: &Path, from: u16, to: u16) -> Result<()> {
    let mut path = OsString::from(repo);
    path.push(".state/fleet.json");
    let text = fs::read_to_string(&path)?;
    let moved = text.replace(&format!(":{from}/"), &format!(":{to}/"));
    if moved == text {
        return Err(format!("no port {from} in {text}").into());
    }
    Ok(fs::write(&path, moved)?)
}
