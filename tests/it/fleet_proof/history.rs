//! What the database writes down by itself of each version of each task, and what a follower of its events saw.

use super::checker::TaskVersion;
use super::own_server::OwnServer;

/// A table and a trigger that no part of watchdog knows: whatever a row becomes, and however, it is written down in the same transaction.
const WRITTEN_DOWN: &str = "
CREATE SCHEMA proof;
CREATE TABLE proof.version (
    n bigint GENERATED ALWAYS AS IDENTITY, task text, status text, holder text, fence bigint, until timestamptz, head text, branch text,
    began timestamptz, written timestamptz);
CREATE FUNCTION proof.write_down() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO proof.version (task, status, holder, fence, until, head, branch, began, written)
    VALUES (NEW.id, NEW.status, NEW.holder, NEW.fence, NEW.until, NEW.head, NEW.branch, statement_timestamp(), clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER write_down AFTER INSERT OR UPDATE ON watchdog.task FOR EACH ROW EXECUTE FUNCTION proof.write_down();";

/// Begins to write down.
pub fn begin(server: &OwnServer) {
    server.sql("fleet", WRITTEN_DOWN);
}

/// Every version, in the order in which they were made. A row is locked from its change to the commit, so that those of one task stand in
/// the order of their commits.
pub fn versions(server: &OwnServer) -> Vec<TaskVersion> {
    let micros = |of: &str| format!("(extract(epoch FROM {of}) * 1000000)::bigint");
    let sql = format!(
        "SELECT task, status, coalesce(holder, ''), fence, {}, head, branch, {}, {} FROM proof.version ORDER BY n",
        // A lease that was ended by hand ended long ago.
        micros("greatest(until, 'epoch')"),
        micros("began"),
        micros("written")
    );
    let text = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    let number = |word: &str| word.parse().ok();
    server
        .sql("fleet", &sql)
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split('|').collect();
            TaskVersion {
                task: words[0].into(),
                status: words[1].into(),
                holder: text(words[2]),
                fence: number(words[3]),
                until: number(words[4]),
                head: text(words[5]),
                branch: text(words[6]),
                began: number(words[7]).expect("a time"),
                written: number(words[8]).expect("a time"),
            }
        })
        .collect()
}

/// The machine and id of each event, in the order of the server.
pub fn events(server: &OwnServer) -> Vec<(String, String)> {
    let listed = server.sql(
        "fleet",
        "SELECT machine, id FROM watchdog.event ORDER BY seq",
    );
    listed
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(machine, id)| (machine.to_owned(), id.to_owned()))
        .collect()
}

/// How many tasks have not ended yet; `None` where the server cannot say.
pub fn open_tasks(server: &OwnServer) -> Option<usize> {
    let open =
        "SELECT count(*) FROM watchdog.task WHERE status NOT IN ('complete', 'review', 'failed')";
    server.try_sql("fleet", open).ok()?.parse().ok()
}

/// What is recorded of tasks that are not complete.
pub fn not_complete(server: &OwnServer) -> String {
    server.sql("fleet", "SELECT id, status, fence, machine, reason, message FROM watchdog.task WHERE status <> 'complete'")
}
