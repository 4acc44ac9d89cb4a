"""Completion for fish: one function that says where on the line the cursor is, and a row for each word."""
import commands

SCRIPT = r'''# Completion of ringfort for fish.  Made by packaging/reference.py from `ringfort help --json`.

# Options that take a value, with their command.
set -g __ringfort_valued \
@VALUED@

# Commands that hold others, and commands that run a program.
set -g __ringfort_holders @HOLDERS@
set -g __ringfort_runners @RUNNERS@

# Where the cursor is: the words of the command so far, or "program N" where N words are ringfort's own.
function __ringfort_where
    set -l words (commandline -opc)
    set -l command ''
    set -l skips 0
    for at in (seq 2 (count $words))
        set -l word $words[$at]
        if test $skips = 1
            set skips 0
        else if test -z "$command"
            string match -q -- '-*' $word; or set command $word
        else if contains -- "$command" $__ringfort_holders
            string match -q -- '-*' $word; or set command "$command $word"
        else if test "$word" = --
            contains -- "$command" $__ringfort_runners; and echo program $at; and return
        else if string match -q -- '-*' $word
            contains -- "$command $word" $__ringfort_valued; and set skips 1
        else if contains -- "$command" $__ringfort_runners
            echo program (math $at - 1)
            return
        end
    end
    echo $command
end

function __ringfort_at
    test (__ringfort_where) = "$argv"
end

function __ringfort_in_program
    string match -q 'program *' (__ringfort_where)
end

# The program's own completion, with our words taken away.
function __ringfort_program
    set -l own (string split ' ' (__ringfort_where))[2]
    set -l words (commandline -opc)
    set -l line
    test (count $words) -gt $own; and set line (string escape -- $words[(math $own + 1)..-1])
    complete -C (string join ' ' -- $line (commandline -ct))
end

function __ringfort_names
    set -l words (commandline -opc)
    set -l before (string match -r '.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    for name in ($words[1] help --names $argv[1] 2>/dev/null)
        echo "$before$name"
    end
end

complete -c ringfort -f
complete -c ringfort -n '__ringfort_at ""' -s h -l help -d 'tell about the commands'
complete -c ringfort -n '__ringfort_at ""' -l version -d 'print the version'
complete -c ringfort -n __ringfort_in_program -a '(__ringfort_program)'
@ROWS@
'''


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def option_row(command, option):
    words = ["complete -c ringfort -n", quoted(f'__ringfort_at "{command.name}"'), "-l", option.name]
    if option.letter:
        words += ["-s", option.letter]
    if option.kind == "choice":
        words += ["-x", "-a", quoted(" ".join(option.choices))]
    elif option.kind == "file":
        words += ["-r", "-F"]
    elif option.kind == "text":
        words += ["-x"]
    elif option.kind:
        words += ["-x", "-a", quoted(f"(__ringfort_names {option.kind})")]
    return " ".join([*words, "-d", quoted(option.help)])


def operand_row(command, reference):
    where = f"complete -c ringfort -n {quoted(f'__ringfort_at {quoted_name(command)}')}"
    if command.verbs:
        return [f"{where} -F -a {quoted(' '.join(command.verbs))}"]
    if command.operands == "program":
        return [f"{where} -a '(__fish_complete_command)'"]
    if command.operands == "file":
        return [f"{where} -F"]
    if command.operands == "command" and not command.holds_others:
        return [f"{where} -a {quoted(' '.join(c.name for c in commands.top(reference)))}"]
    if command.operands and command.operands != "command":
        return [f"{where} -a {quoted(f'(__ringfort_names {command.operands})')}"]
    return []


def quoted_name(command):
    return f'"{command.name}"'


def make(reference):
    rows, valued = [], []
    for command in commands.top(reference):
        rows.append(f"complete -c ringfort -n '__ringfort_at \"\"' -a {command.name} -d {quoted(command.summary)}")
    for command in reference.commands:
        for part in commands.beneath(reference, command):
            rows.append(f"complete -c ringfort -n {quoted(f'__ringfort_at {quoted_name(command)}')} "
                        f"-a {part.words[1]} -d {quoted(part.summary)}")
        rows += [option_row(command, option) for option in command.options]
        rows += operand_row(command, reference)
        for option in command.options:
            if option.kind:
                valued.append(quoted(f"{command.name} --{option.name}"))
                if option.letter:
                    valued.append(quoted(f"{command.name} -{option.letter}"))
    holders = [quoted(c.name) for c in reference.commands if c.holds_others]
    runners = [quoted(c.name) for c in reference.commands if c.operands == "program"]
    return (SCRIPT.replace("@VALUED@", " \\\n".join(f"    {word}" for word in valued))
            .replace("@HOLDERS@", " ".join(holders)).replace("@RUNNERS@", " ".join(runners))
            .replace("@ROWS@", "\n".join(rows)))
