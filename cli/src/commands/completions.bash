# Bash ends a word at each `@`, `:` and `=`, which addresses and options contain. This joins the parts,
# completes them as one, and returns what replaces the last part.
_milepost() {
    local rest="$COMP_LINE" before part last= words=() index=0 i
    for i in "${!COMP_WORDS[@]}"; do
        part="${COMP_WORDS[i]}"
        before="${rest%%[![:space:]]*}"
        rest="${rest#"$before"}"
        if ((i == COMP_CWORD)); then
            # What is behind the cursor is not completed.
            local begin=$((${#COMP_LINE} - ${#rest}))
            local length=$((COMP_POINT - begin))
            rest="${rest#"$part"}"
            part="${COMP_LINE:begin:length > 0 ? length : 0}"
        else
            rest="${rest#"$part"}"
        fi
        if ((i > 0 && i <= COMP_CWORD)) && [[ -z "$before" && ("$part" == [@:=]* || "$last" == *[@:=]) ]]; then
            words[${#words[@]} - 1]+="$part"
        else
            words+=("$part")
        fi
        last="$part"
        ((i == COMP_CWORD)) && index=$((${#words[@]} - 1))
    done
    local word="${words[index]}"
    local kept="${word%"$2"}"
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$index
    _clap_complete_milepost "$1" "$word" "$3"
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    if [[ "$word" == *@* ]]; then
        # Otherwise bash offers the names of hosts.
        compopt +o bashdefault 2> /dev/null
    fi
}
complete -o nospace -o bashdefault -F _milepost milepost
