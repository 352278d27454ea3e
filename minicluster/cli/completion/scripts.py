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
    (( directive & 4 )) && return
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    _files
}
compdef _minicluster minicluster
"""
FISH: Final = r"""# Completion of minicluster in fish. In config.fish: minicluster completion fish | source
function __minicluster_ask
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -g __minicluster_found ($program __complete $words "$current" 2>/dev/null)
    test (count $__minicluster_found) -gt 0; or return 0
    set -l directive (string sub -s 2 -- $__minicluster_found[-1])
    set -e __minicluster_found[-1]
    test (math "bitand($directive, 4)") -eq 0; or return 0
    test (count $__minicluster_found) -gt 0; or return 1 # fish completes names of files itself
    set -a __minicluster_found (__fish_complete_path "$current")
end
complete -c minicluster -n __minicluster_ask -f -a '$__minicluster_found'
"""
OF_SHELL: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}
