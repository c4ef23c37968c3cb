-- The budgets of accounts, and how much of today's was given to machines.
CREATE TABLE watchdog.account (
    name text COLLATE "C" PRIMARY KEY,
    max_cost_usd_per_day double precision CHECK (max_cost_usd_per_day >= 0),
    day date NOT NULL DEFAULT '-infinity',
    drawn_usd double precision NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70);

-- Gives a machine a share of what is left of the day, and counts what it spent beyond its share of the same day. The row is locked first, so
-- that two never get the same part; whoever waited for the lock over midnight does not bring the day before back. No row, no budget.
CREATE FUNCTION watchdog.draw_share(account_name text, wanted_usd double precision, owed_usd double precision, owed_of text)
RETURNS TABLE (share_usd double precision, most_usd double precision, share_day text, day_left_ms bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known watchdog.account;
    today date;
BEGIN
    SELECT * INTO known FROM watchdog.account AS a WHERE a.name = account_name FOR UPDATE;
    IF NOT FOUND OR known.max_cost_usd_per_day IS NULL THEN
        RETURN;
    END IF;
    today := greatest(known.day, (clock_timestamp() AT TIME ZONE 'UTC')::date);
    IF today > known.day THEN
        known.drawn_usd := 0;
    END IF;
    IF owed_of = today::text THEN
        known.drawn_usd := known.drawn_usd + greatest(owed_usd, 0);
    END IF;
    share_usd := greatest(least(wanted_usd, known.max_cost_usd_per_day - known.drawn_usd), 0);
    UPDATE watchdog.account AS a SET day = today, drawn_usd = known.drawn_usd + share_usd WHERE a.name = account_name;
    most_usd := known.max_cost_usd_per_day;
    share_day := today::text;
    day_left_ms := (extract(epoch FROM ((today + 1)::timestamp AT TIME ZONE 'UTC') - clock_timestamp()) * 1000)::bigint;
    RETURN NEXT;
END
$$;
REVOKE ALL ON FUNCTION watchdog.draw_share(text, double precision, double precision, text) FROM PUBLIC;
