-- What the machines of one account share: the limits that they met.
CREATE TABLE watchdog.usage_limit (
    account text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    until timestamptz NOT NULL,
    machine text NOT NULL,
    seen_at timestamptz NOT NULL,
    -- When a person said that it is over: what was seen before does not bring it back.
    cleared_at timestamptz,
    PRIMARY KEY (account, agent)
) WITH (fillfactor = 70);
