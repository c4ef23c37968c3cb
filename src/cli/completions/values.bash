# Offers the names and words that `watchdog complete` names; fails where the word at the cursor is something else.
_watchdog_values() {
    local line=${COMP_LINE:0:COMP_POINT} found typed before current value word i
    local quotes="[\"']"
    local -a words=()
    # Bash splits at '=' and ':' as well; here a word ends where a blank follows.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i -eq 0 || $line == [[:blank:]]* ]]; then words+=(""); fi
        line=${line#"${line%%[![:blank:]]*}"}
        if [[ $i -eq $COMP_CWORD ]]; then word=$line; fi
        words[${#words[@]} - 1]+=$word
        line=${line#"$word"}
    done
    current=$word
    for i in "${!words[@]}"; do
        word=${words[i]//\\/}
        words[i]=${word//$quotes/}
    done
    found=$(command watchdog complete -- "${words[@]}" 2>/dev/null) || return 1
    typed=${words[${#words[@]} - 1]}
    if [[ $typed == --*=* ]]; then typed=${typed#*=}; fi
    case $current in *[!=:@]*) ;; *) current= ;; esac
    word=${current//\\/}
    before=${typed%"${word//$quotes/}"}
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        if [[ -z $value || $value != "$typed"* ]]; then continue; fi
        value=${value#"$before"}
        case $current in
            [\"\']*) ;;
            # A comma means something between braces alone, and these are quoted.
            *) printf -v value %q "$value"; value=${value//\\,/,} ;;
        esac
        COMPREPLY+=("$value")
    done <<<"$found"
    # None of them is the name of a file.
    compopt +o default +o bashdefault 2>/dev/null
    return 0
}
