"""Completion for zsh: a function for each command, which hands its options to _arguments."""
import commands

SCRIPT = r'''#compdef ringfort
# Completion of ringfort for zsh.  Made by packaging/reference.py from `ringfort help --json`.

# Names that ringfort lists, with commas between them.
_ringfort_names() {
	local -a names
	names=(${(f)"$(_call_program names $words_of_ringfort help --names $1 2>/dev/null)"})
	(( $#names )) && _values -s , $1 $names
}

# A program and its own words; what _arguments hands on may still have the dashes before it.
_ringfort_program() {
	if [[ $words[1] == -- ]]; then
		shift words
		(( CURRENT-- ))
	fi
	_normal
}

@FUNCTIONS@
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_ringfort "$@"
else
	compdef _ringfort ringfort
fi
'''

# A command that holds others: ringfort itself, and `policy`.
HOLDER = r'''@NAME@() {
	local context state state_descr line
	local -A opt_args@LOCALS@
	_arguments -C \
		'(- : *)'{-h,--help}'[tell about the commands]' \@OPTIONS@
		'1:command:->command' \
		'*::arguments:->arguments'
	case $state in
	command)
		local -a list=(
@COMMANDS@
		)
		_describe -t commands command list
		;;
	arguments)
		case $line[1] in
@CALLS@
		esac
		;;
	esac
}
'''
OWN_LOCALS = "\n\tlocal words_of_ringfort=$words[1]"
OWN_OPTIONS = "\n\t\t'(- : *)--version[print the version]' \\"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def escaped(text):
    """For a description in brackets, and for what stands between colons."""
    for char in "\\[]:":
        text = text.replace(char, "\\" + char)
    return text


def function_of(command):
    return "_ringfort_" + "_".join(command.words)


def action(kind, choices):
    if kind == "choice":
        return f"({' '.join(choices)})"
    if kind == "file":
        return "_files"
    if kind == "text":
        return " "
    return f"{{_ringfort_names {kind}}}"


def option_spec(option):
    """One of _arguments' specifications; options may be given again, since the last one wins."""
    tail = f"[{escaped(option.help)}]"
    if option.kind:
        tail += f":{escaped(option.arg)}:{action(option.kind, option.choices)}"
    long = f"--{option.name}{'=' if option.kind else ''}"
    if not option.letter:
        return quoted(f"*{long}{tail}")
    short = f"-{option.letter}{'+' if option.kind else ''}"
    return f"'*'{{{short},{long}}}{quoted(tail)}"


def operand_specs(command):
    if command.verbs:
        return [f"'1:what:({' '.join(command.verbs)})'", "'*:file:_files'"]
    if command.operands == "program":
        return ["'(-)1: :{ _command_names -e }'", "'*:: :_ringfort_program'"]
    if command.operands == "file":
        return ["'*:file:_files'"]
    if command.operands == "command":
        return ["'1:command:_ringfort_topics'", "'2:command:_ringfort_topics'"]
    if command.operands:
        return [f"'*:name:{{_ringfort_names {command.operands}}}'"]
    return []


def describe(list_of, name):
    return "\n".join(f"\t\t\t{quoted(name(c) + ':' + c.summary)}" for c in list_of)


def calls(list_of, name):
    return "\n".join(f"\t\t{name(c)}) {function_of(c)} ;;" for c in list_of)


def last_word(command):
    return command.words[-1]


def holder(name, parts, own_locals="", own_options=""):
    return (HOLDER.replace("@NAME@", name).replace("@LOCALS@", own_locals)
            .replace("@OPTIONS@", own_options).replace("@COMMANDS@", describe(parts, last_word))
            .replace("@CALLS@", calls(parts, last_word)))


def make(reference):
    functions = []
    for command in reference.commands:
        parts = commands.beneath(reference, command) if command.holds_others else []
        if parts:
            functions.append(holder(function_of(command), parts))
            continue
        specs = [*(option_spec(option) for option in command.options), *operand_specs(command)]
        functions.append(f"{function_of(command)}() {{\n\t_arguments -s -S : \\\n\t\t" +
                         " \\\n\t\t".join(specs) + "\n}\n")
    functions.append("_ringfort_topics() {\n\tlocal -a list=(\n" + describe(commands.top(reference), last_word) +
                     "\n\t)\n\t_describe -t commands command list\n}\n")
    functions.append(holder("_ringfort", commands.top(reference), OWN_LOCALS, OWN_OPTIONS))
    return SCRIPT.replace("@FUNCTIONS@", "\n".join(functions))
