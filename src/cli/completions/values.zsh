# Offers the names and words that `watchdog complete` names; fails where the word at the cursor is something else.
_watchdog_values() {
    local found line
    local -a given values shown
    given=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    found=$(command watchdog complete -- "${given[@]}" 2>/dev/null) || return 1
    for line in "${(@f)found}"; do
        if [[ -z $line ]]; then continue; fi
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    if [[ $PREFIX == --*=* ]]; then compset -P 1 '*='; fi
    compadd -V watchdog -l -d shown -a values
    return 0
}
