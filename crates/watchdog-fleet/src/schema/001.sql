-- What the machines of a fleet share. Made by its owner; other roles get what worker_rights.sql grants.
CREATE SCHEMA IF NOT EXISTS watchdog;

-- The formats that were applied; the newest is the format of the tables.
CREATE TABLE watchdog.format (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    program text NOT NULL
);

-- Revisions of rows and fences of leases: numbers that only grow.
CREATE SEQUENCE watchdog.number AS bigint;

CREATE TABLE watchdog.record (
    key text COLLATE "C" PRIMARY KEY,
    rev bigint NOT NULL,
    value bytea NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- A released lease stays as a row that has expired: the next fence is then drawn while that row is locked, so that it is the larger one.
CREATE TABLE watchdog.lease (
    key text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Numbers are drawn under a lock that is held until the commit, so that they stand in the order of commits and a reader skips none.
CREATE SEQUENCE watchdog.event_number AS bigint;

-- By day of the event's own time, which never changes: an event that is sent again meets itself in the same partition.
CREATE TABLE watchdog.event (
    seq bigint NOT NULL DEFAULT nextval('watchdog.event_number'),
    id text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL,
    machine text NOT NULL,
    worktree text NOT NULL,
    spec text,
    kind text NOT NULL,
    -- As text and not as jsonb, which cannot hold every string.
    data json NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX event_seq ON watchdog.event (seq);
-- For days that have none of their own, as of a machine whose clock is far off.
CREATE TABLE watchdog.event_other_days PARTITION OF watchdog.event DEFAULT;

-- Makes the partitions of today and the next days. A day whose events are among the other days already stays there.
CREATE FUNCTION watchdog.prepare_days() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    name text;
    made integer := 0;
BEGIN
    IF to_regclass('watchdog.event_' || to_char(first + 2, 'YYYYMMDD')) IS NOT NULL THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(8317712, 3);
    FOR ahead IN 0..3 LOOP
        name := 'event_' || to_char(first + ahead, 'YYYYMMDD');
        IF to_regclass('watchdog.' || name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE watchdog.%I (LIKE watchdog.event INCLUDING ALL)', name);
                EXECUTE format('ALTER TABLE watchdog.event ATTACH PARTITION watchdog.%I FOR VALUES FROM (%L) TO (%L)', name,
                    (first + ahead)::text || ' 00:00:00+00', (first + ahead + 1)::text || ' 00:00:00+00');
                made := made + 1;
            EXCEPTION WHEN check_violation OR lock_not_available THEN
                NULL;
            END;
        END IF;
    END LOOP;
    RETURN made;
END
$$;
REVOKE ALL ON FUNCTION watchdog.prepare_days() FROM PUBLIC;

-- The machines that joined, each with its last heartbeat.
CREATE TABLE watchdog.machine (
    name text COLLATE "C" PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    program text NOT NULL,
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    clock_ahead_ms bigint NOT NULL
) WITH (fillfactor = 70);
