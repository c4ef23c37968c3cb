
# The names and words for the word at the cursor; fails where it is something else.
function __watchdog_values
    command watchdog complete -- (commandline -opc) (commandline -ct) 2>/dev/null
end

complete -c watchdog -n '__watchdog_values >/dev/null' -l spec -x -k -a '(__watchdog_values)'
complete -c watchdog -n '__watchdog_values >/dev/null' -l try -x -k -a '(__watchdog_values)'
complete -c watchdog -n '__watchdog_values >/dev/null' -l status -x -k -a '(__watchdog_values)'
complete -c watchdog -n '__watchdog_values >/dev/null' -l only -x -k -a '(__watchdog_values)'
complete -c watchdog -n '__watchdog_values >/dev/null' -l kind -x -k -a '(__watchdog_values)'
complete -c watchdog -n '__watchdog_values >/dev/null' -f -k -a '(__watchdog_values)'
