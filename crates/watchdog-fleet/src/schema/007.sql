-- One table of events in place of a partition for each day, which the owner had to prepare.
LOCK TABLE watchdog.event IN ACCESS EXCLUSIVE MODE;
CREATE TABLE watchdog.event_whole (LIKE watchdog.event INCLUDING DEFAULTS);
INSERT INTO watchdog.event_whole SELECT * FROM watchdog.event;
DROP FUNCTION watchdog.prepare_days();
DROP FUNCTION watchdog.drop_days(integer);
DROP TABLE watchdog.event;
ALTER TABLE watchdog.event_whole RENAME TO event;
ALTER TABLE watchdog.event ADD PRIMARY KEY (at, id);
CREATE INDEX event_seq ON watchdog.event (seq);

-- Deletes old events, at most 50,000 a call, and none of the last 30 days, so that no worker can erase what happened lately.
CREATE FUNCTION watchdog.prune_events(older_than_days integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pruned bigint;
BEGIN
    IF older_than_days IS NULL OR older_than_days < 30 THEN
        RAISE EXCEPTION 'events of the last 30 days are kept' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    DELETE FROM watchdog.event WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM watchdog.event
        WHERE at < ((clock_timestamp() AT TIME ZONE 'UTC')::date - older_than_days)::timestamp AT TIME ZONE 'UTC' LIMIT 50000));
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END
$$;
REVOKE ALL ON FUNCTION watchdog.prune_events(integer) FROM PUBLIC;

-- Machines share neither a budget nor a cap of parallel questions any more.
DROP FUNCTION watchdog.draw_share(text, double precision, double precision, text);
DROP FUNCTION watchdog.take_slots(text, text, text[], bigint, boolean);
DROP FUNCTION watchdog.slots_to_keep(integer);
DROP TABLE watchdog.question_slot;
DROP TABLE watchdog.account;
