GRANT USAGE ON SCHEMA watchdog TO {worker};
GRANT SELECT ON watchdog.format TO {worker};
GRANT SELECT, INSERT, UPDATE, DELETE ON watchdog.record, watchdog.machine TO {worker};
GRANT SELECT, INSERT, UPDATE ON watchdog.lease, watchdog.task TO {worker};
GRANT SELECT, INSERT ON watchdog.event, watchdog.task_step TO {worker};
GRANT SELECT, INSERT, UPDATE ON watchdog.usage_limit TO {worker};
GRANT USAGE ON SEQUENCE watchdog.number, watchdog.event_number TO {worker};
GRANT EXECUTE ON FUNCTION watchdog.prune_events(integer) TO {worker};
