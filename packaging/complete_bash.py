"""Completion for bash: one function and a few tables made from the commands.

It stands alone; where the bash-completion package is loaded, it hands the program's own words over
to that (after `--`), and else offers programs and files.
"""
import commands

SCRIPT = r'''# Completion of ringfort for bash.  Made by packaging/reference.py from `ringfort help --json`.

# The options of a command, and which of them take a value.
_ringfort_options()
{
	case $1 in
@OPTIONS@
	esac
}

# What the value of an option is: "choice WORDS", "file", "profiles", "languages" or "text"; nothing
# for an option that takes none.
_ringfort_value()
{
	case "$1 $2" in
@VALUES@
	esac
}

# What follows the options of a command.
_ringfort_operand()
{
	case $1 in
@OPERANDS@
	esac
}

# The commands of a first word ("" for the first words themselves).
_ringfort_commands()
{
	case $1 in
@COMMANDS@
	esac
}

_ringfort_offer()
{
	local line
	while IFS= read -r line; do
		COMPREPLY+=("$line")
	done < <(compgen "${@:2}" -- "$1")
}

# Words that are paths: bash adds the slash of a directory.
_ringfort_files()
{
	compopt -o filenames 2>/dev/null
	_ringfort_offer "$1" -f
}

# The last of NAME,NAME,NAME; bash replaces the whole word, so what stands before comes again.
_ringfort_names()
{
	local before='' line
	case $2 in *,*) before=${2%,*}, ;; esac
	while IFS= read -r line; do
		COMPREPLY+=("$before$line")
	done < <(compgen -W "$("$RINGFORT_COMPLETES" help --names "$1" 2>/dev/null)" -- "${2##*,}")
}

# Offers values for an option; fails if it takes none.
_ringfort_values()
{
	local kind
	kind=$(_ringfort_value "$1" "$2")
	case $kind in
	'') return 1 ;;
	choice*) _ringfort_offer "$3" -W "${kind#choice}" ;;
	file) _ringfort_files "$3" ;;
	text) ;;
	*) _ringfort_names "$kind" "$3" ;;
	esac
}

# The program after the options, and its own arguments, from word number $1 on.
_ringfort_program()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		case $2 in
		*/*) _ringfort_files "$2" ;;
		*) _ringfort_offer "$2" -c ;;
		esac
	else
		_ringfort_files "$2"
	fi
}

_ringfort()
{
	local RINGFORT_COMPLETES=$1 current=$2 command='' word option='' at
	COMPREPLY=()

	# Walks the words before the one at the cursor.  bash makes three words of --net=host.
	for ((at = 1; at < COMP_CWORD; at++)); do
		word=${COMP_WORDS[at]}
		if [[ $option && $word == = ]]; then
			continue
		elif [[ $option ]]; then # its value
			option=
		elif [[ ! $command ]]; then
			[[ $word == -* ]] || command=$word
		elif [[ " $(_ringfort_commands "$command") " == *" $word "* && $command != *' '* ]]; then
			command+=" $word"
		elif [[ $word == -- ]]; then
			[[ $(_ringfort_operand "$command") != program ]] || _ringfort_program $((at + 1)) "$current"
			return
		elif [[ $word == -* ]]; then
			[[ ! $(_ringfort_value "$command" "$word") ]] || option=$word
		elif [[ $(_ringfort_operand "$command") == program ]]; then
			_ringfort_program "$at" "$current"
			return
		fi
	done

	# Some versions of bash give "=" as the word at the cursor, with an empty value behind it.
	[[ $current != = ]] || current=
	if [[ ! $option && $current == --*=* ]]; then
		option=${current%%=*}
		current=${current#*=}
	fi
	if [[ $option ]]; then
		_ringfort_values "$command" "$option" "$current"
	elif [[ ! $command ]]; then
		_ringfort_offer "$current" -W "$(_ringfort_commands '') --help --version"
	elif [[ $current == -* ]]; then
		_ringfort_offer "$current" -W "$(_ringfort_options "$command")"
	elif [[ $command != *' '* && $(_ringfort_commands "$command") ]]; then
		_ringfort_offer "$current" -W "$(_ringfort_commands "$command")"
	else
		case $(_ringfort_operand "$command") in
		program) _ringfort_program "$COMP_CWORD" "$current" ;;
		command) _ringfort_offer "$current" -W "$(_ringfort_commands '')" ;;
		file) _ringfort_files "$current" ;;
		verb*)
			_ringfort_offer "$current" -W "$(_ringfort_operand "$command" | cut -d ' ' -f 2-)"
			_ringfort_files "$current"
			;;
		profiles) _ringfort_names profiles "$current" ;;
		esac
	fi
}

complete -F _ringfort ringfort
'''


def spellings(option):
    return [f"--{option.name}"] + ([f"-{option.letter}"] if option.letter else [])


def case(pattern, text):
    return f"\t{pattern}) echo {text} ;;"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def make(reference):
    options, operands, values, lists = [], [], {}, []
    for command in reference.commands:
        names = [name for option in command.options for name in spellings(option)]
        options.append(case(quoted(command.name), quoted(" ".join(names))))
        if command.verbs:
            operands.append(case(quoted(command.name), quoted(" ".join(["verb", *command.verbs]))))
        elif command.operands:
            operands.append(case(quoted(command.name), command.operands))
        for option in command.options:
            if option.kind:
                what = " ".join(["choice", *option.choices]) if option.choices else option.kind
                values.setdefault(what, []).extend(quoted(f"{command.name} {name}") for name in spellings(option))
    lists.append(case("''", quoted(" ".join(command.name for command in commands.top(reference)))))
    for command in commands.top(reference):
        parts = [part.words[1] for part in commands.beneath(reference, command)]
        if parts:
            lists.append(case(quoted(command.name), quoted(" ".join(parts))))
    rows = [case(" | \\\n\t\t".join(patterns), quoted(what)) for what, patterns in values.items()]
    text = SCRIPT
    for mark, lines in (("@OPTIONS@", options), ("@VALUES@", rows), ("@OPERANDS@", operands), ("@COMMANDS@", lists)):
        text = text.replace(mark, "\n".join(lines))
    return text
