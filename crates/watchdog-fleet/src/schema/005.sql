-- Drops whole days of events, none younger than 30 days, so that no worker can erase what happened lately. Returns the days that went, and
-- the events that went from among those of other days, at most 50,000 a call.
CREATE FUNCTION watchdog.drop_days(older_than_days integer, OUT days integer, OUT events bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first date := (clock_timestamp() AT TIME ZONE 'UTC')::date - older_than_days;
    name text;
BEGIN
    IF older_than_days IS NULL OR older_than_days < 30 THEN
        RAISE EXCEPTION 'events of the last 30 days are kept' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(8317712, 3);
    days := 0;
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'watchdog.event'::regclass AND c.relname ~ '^event_[0-9]{8}$'
            AND to_date(substr(c.relname, 7), 'YYYYMMDD') < first
        ORDER BY c.relname
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE watchdog.%I', name);
            days := days + 1;
        EXCEPTION WHEN lock_not_available THEN
            -- Somebody reads for long: the next call drops it.
            NULL;
        END;
    END LOOP;
    DELETE FROM watchdog.event_other_days WHERE ctid IN (
        SELECT ctid FROM watchdog.event_other_days WHERE at < (first::timestamp AT TIME ZONE 'UTC') LIMIT 50000);
    GET DIAGNOSTICS events = ROW_COUNT;
END
$$;
REVOKE ALL ON FUNCTION watchdog.drop_days(integer) FROM PUBLIC;
