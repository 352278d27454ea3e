"""The scripts that make shells ask for completions."""

from __future__ import annotations

from typing import Final

BASH: Final = r"""# Completion of minicluster in bash. In ~/.bashrc: eval "$(minicluster completion bash)"
_minicluster() {
    local lines
    local program=${1/#\~/$HOME} line=${COMP_LINE:0:COMP_POINT}
    mapfile -t lines < <("$program" __complete_bash "$line" "$2" 2>/dev/null)
    COMPREPLY=("${lines[@]:1}")
    local directive=${lines[0]:-4}
    ((directive & 2)) && compopt -o nospace
    ((directive & 4)) && compopt +o default
    return 0
}
complete -o default -F _minicluster minicluster
"""
ZSH: Final = r"""#compdef minicluster
# Completion of minicluster in zsh. In ~/.zshrc, behind compinit: eval "$(minicluster completion zsh)"
_minicluster() {
    local -a lines described no_space
    local line directive
    lines=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    directive=${${lines[-1]:-:4}#:}
    for line in "${(@)lines[1,-2]}"; do
        if [[ $line == *$'\t'* ]]; then
            described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
            described+=("${line//:/\\:}")
        fi
    done
    (( directive & 2 )) && no_space=(-S "")
    (( $#described )) && _describe -t minicluster minicluster described "${no_space[@]}"
    (( directive & 4 )) || _files
}
compdef _minicluster minicluster
"""
FISH: Final = r"""# Completion of minicluster in fish. In config.fish: minicluster completion fish | source
function __minicluster_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete $words "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive (string sub -s 2 -- $lines[-1])
    set -e lines[-1]
    test (count $lines) -gt 0; and printf '%s\n' $lines
    test (math "bitand($directive, 4)") -eq 0; and __fish_complete_path "$current"
end
complete -c minicluster -f -a '(__minicluster_complete)'
"""
OF_SHELL: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}
