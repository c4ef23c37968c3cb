-- Questions that the machines of an account may put to agents at a time; null = as many as they like.
ALTER TABLE watchdog.account ADD COLUMN max_parallel_questions integer CHECK (max_parallel_questions > 0);

-- The slots of these questions. One row is the right to one question at a time, which ends by itself.
CREATE TABLE watchdog.question_slot (
    account text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    machine text COLLATE "C" NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (account, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- How many slots of a cap each machine may keep ready: half of them are kept so, in equal parts, by the machines that were there lately.
CREATE FUNCTION watchdog.slots_to_keep(most integer) RETURNS integer
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (most / (2 * greatest(count(*), 1)))::integer FROM watchdog.machine WHERE seen_at > clock_timestamp() - interval '10 minutes'
$$;

-- Takes slots by these names, or renews them, as far as the cap leaves any; `to_keep` bounds what the machine has by its part. The row of the
-- account is locked first, so that two never get the same one. No row, no cap.
CREATE FUNCTION watchdog.take_slots(account_name text, machine_name text, ids text[], lasts_ms bigint, to_keep boolean)
RETURNS TABLE (taken text[], most integer, share integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    free bigint;
BEGIN
    SELECT a.max_parallel_questions INTO most FROM watchdog.account AS a WHERE a.name = account_name FOR UPDATE;
    IF most IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM watchdog.question_slot AS s WHERE s.account = account_name AND s.until <= clock_timestamp();
    share := watchdog.slots_to_keep(most);
    SELECT most - count(*) INTO free FROM watchdog.question_slot AS s
        WHERE s.account = account_name AND NOT (s.machine = machine_name AND s.id = ANY (ids));
    IF to_keep THEN
        SELECT least(free, share - count(*)) INTO free FROM watchdog.question_slot AS s
            WHERE s.account = account_name AND s.machine = machine_name AND NOT s.id = ANY (ids);
    END IF;
    taken := ids[1:greatest(free, 0)];
    INSERT INTO watchdog.question_slot (account, id, machine, until)
        SELECT account_name, named.id, machine_name, clock_timestamp() + lasts_ms * interval '1 ms' FROM unnest(taken) AS named (id)
        ON CONFLICT (account, id) DO UPDATE SET until = excluded.until;
    RETURN NEXT;
END
$$;
REVOKE ALL ON FUNCTION watchdog.slots_to_keep(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION watchdog.take_slots(text, text, text[], bigint, boolean) FROM PUBLIC;
