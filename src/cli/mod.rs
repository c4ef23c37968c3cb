//! WORDS IN, WORDS OUT. Arguments, output, exit codes; one file per command.
