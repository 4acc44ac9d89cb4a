/* Commands, found and explained: see command.h.  Which there are is in command-table.c. */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/style.h"
#include "cli/cmd.h"
#include "cli/example.h"
#include "cli/option.h"

#define MAX_PROSE (64 * 1024)

/* ------------------------------------------------------------- help */

static void put_heading(const char *text, FILE *out)
{
	const struct rf_style style = rf_style_of(fileno(out));

	fprintf(out, "%s%s%s", rf_style_begin(style, RF_STYLE_HEADING), text, rf_style_end(style));
}

/* An example and what it does, beside it or, where there is no room, above it. */
static void put_example(const struct rf_cmd_example *example, size_t width, FILE *out)
{
	if (!example->about)
		fprintf(out, "  %s\n", example->line);
	else if (2 + width + 2 + strlen(example->about) <= RF_STYLE_WIDTH)
		fprintf(out, "  %-*s  %s\n", (int)width, example->line, example->about);
	else
		fprintf(out, "  # %s\n  %s\n", example->about, example->line);
}

static void put_examples(const struct rf_cmd_example *examples, FILE *out)
{
	size_t width = 0;

	for (const struct rf_cmd_example *e = examples; e->line; e++)
		if (e->about && strlen(e->line) > width && strlen(e->line) < 48)
			width = strlen(e->line);
	put_heading("\nexamples:\n", out);
	for (const struct rf_cmd_example *e = examples; e->line; e++)
		put_example(e, width > strlen(e->line) ? width : strlen(e->line), out);
}

static const char *next_line(const char *text)
{
	text += strcspn(text, "\n");
	return text + (*text == '\n');
}

/* Prose is broken to fit; empty lines, and lines that begin with a space, stay as they are. */
static void put_prose(const char *text, int indent, FILE *out)
{
	RF_AUTO_BUF struct rf_buf lines;

	rf_buf_init(&lines, MAX_PROSE);
	while (*text) {
		const char *end = next_line(text);
		char *part;

		if (*text == ' ' || *text == '\n') {
			rf_buf_printf(&lines, "%.*s\n", (int)strcspn(text, "\n"), text);
			text = end;
			continue;
		}
		while (*end && *end != ' ' && *end != '\n')
			end = next_line(end);
		part = strndup(text, (size_t)(end - text));
		rf_buf_printf(&lines, "%*s", indent, "");
		rf_style_paragraph(part ? part : "", indent, &lines);
		free(part);
		text = end;
	}
	fputs(lines.data ? lines.data : "", out);
}

/* True if `id` is one of the commands that `parent` holds. */
static bool is_beneath(enum rf_cmd_id id, enum rf_cmd_id parent)
{
	const char *name = rf_cmd_table[id].name;
	size_t len = strlen(rf_cmd_table[parent].name);

	return strncmp(name, rf_cmd_table[parent].name, len) == 0 && name[len] == ' ';
}

static void put_row(const char *name, int width, const char *text, FILE *out)
{
	RF_AUTO_BUF struct rf_buf row;

	rf_buf_init(&row, MAX_PROSE);
	rf_buf_printf(&row, "  %-*s  ", width, name);
	rf_style_paragraph(text, width + 4, &row);
	fputs(row.data ? row.data : "", out);
}

/* The commands beneath `parent`, or those of one word for RF_CMD_COUNT. */
static void put_list(enum rf_cmd_id parent, FILE *out)
{
	size_t width = 0;

	put_heading("\ncommands:\n", out);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < RF_CMD_COUNT; i++) {
			const char *name = rf_cmd_table[i].name, *space = strchr(name, ' ');

			if (parent == RF_CMD_COUNT ? space != NULL
						   : !is_beneath((enum rf_cmd_id)i, parent))
				continue;
			name = space ? space + 1 : name;
			if (pass == 0)
				width = strlen(name) > width ? strlen(name) : width;
			else
				put_row(name, (int)width, rf_cmd_table[i].summary, out);
		}
}

void rf_command_help(enum rf_cmd_id id, FILE *out)
{
	const struct rf_cmd *cmd = &rf_cmd_table[id];
	const char *lead = "usage:", *line = cmd->synopsis;

	do {
		size_t len = strcspn(line, "\n");

		put_heading(lead, out);
		fprintf(out, " ringfort %s%s%.*s\n", cmd->name, len ? " " : "", (int)len, line);
		lead = "      ";
		line += len + (line[len] == '\n');
	} while (*line);
	fputs("\n", out);
	put_prose(cmd->about, 0, out);
	if (!cmd->main)
		put_list(id, out);
	else
		rf_option_help(id, out);
	if (cmd->examples)
		put_examples(cmd->examples, out);
	if (cmd->exits) {
		put_heading("\nexit codes:\n", out);
		put_prose(cmd->exits, 2, out);
	}
}

void rf_command_help_all(FILE *out)
{
	put_heading("usage:", out);
	fprintf(out, " ringfort %s\n\n", rf_cmd_all.synopsis);
	put_prose(rf_cmd_all.about, 0, out);
	put_list(RF_CMD_COUNT, out);
	put_examples(rf_cmd_all.examples, out);
	fputs("\n`ringfort help COMMAND` tells more.  `--version` prints the version.\n", out);
}

/* ------------------------------------------------------------- dispatch */

static enum rf_cmd_id find_file(const char *word)
{
	for (int i = RF_CMD_FILE_CAT; i <= RF_CMD_FILE_RM; i++)
		if (strcmp(rf_cmd_table[i].name + strlen("file "), word) == 0)
			return (enum rf_cmd_id)i;
	return RF_CMD_COUNT;
}

enum rf_cmd_id rf_command_find(const char *first, const char *second)
{
	size_t len = strlen(first);

	for (int i = 0; i < RF_CMD_COUNT; i++) {
		const char *name = rf_cmd_table[i].name;

		if (strncmp(name, first, len) != 0)
			continue;
		if (second ? name[len] == ' ' && strcmp(name + len + 1, second) == 0
			   : name[len] == '\0')
			return (enum rf_cmd_id)i;
	}
	/* What has one word in every shell needs no second one here. */
	return second ? RF_CMD_COUNT : find_file(first);
}

/* Finds the last word of a command that is nearest to `word`, among those beneath `parent`. */
static const char *nearest(const char *word, enum rf_cmd_id parent)
{
	const char *near = NULL;
	int best = 3;

	for (int i = 0; i < RF_CMD_COUNT; i++) {
		const char *name = rf_cmd_table[i].name, *space = strchr(name, ' ');
		int distance;

		if (parent == RF_CMD_COUNT ? space != NULL : !is_beneath((enum rf_cmd_id)i, parent))
			continue;
		name = space ? space + 1 : name;
		distance = rf_option_distance(word, name);
		if (distance < best) {
			best = distance;
			near = name;
		}
	}
	return near;
}

int rf_command_unknown(const char *word, enum rf_cmd_id parent)
{
	const char *near = nearest(word, parent);
	bool is_top = parent == RF_CMD_COUNT;
	struct rf_err err;

	if (is_top)
		rf_fail_say(&err, -EINVAL, "there is no command `%.60s`", word);
	else
		rf_fail_say(&err, -EINVAL, "%s has no command `%.60s`", rf_cmd_table[parent].name,
			    word);
	if (near)
		rf_fail_hint(&err, "did you mean `%s`?", near);
	else if (is_top && strcmp(word, "version") == 0)
		rf_fail_hint(&err, "did you mean `ringfort --version`?");
	else if (is_top && word[0] == '-')
		rf_fail_hint(&err,
			     "options come after a command, as in: ringfort run --json -- true");
	else if (is_top)
		rf_fail_hint(
			&err,
			"`ringfort --help` lists them; to run a program: ringfort run -- %.60s",
			word);
	else
		rf_fail_hint(&err, "`ringfort %s --help` lists them", rf_cmd_table[parent].name);
	rf_cmd_complain(NULL, &err);
	return RF_EXIT_FAILED;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int rf_command_run(int argc, char **argv)
{
	enum rf_cmd_id id, sub;

	if (argc < 2) {
		rf_command_help_all(stderr);
		return RF_EXIT_FAILED;
	}
	if (is_help(argv[1])) {
		rf_command_help_all(stdout);
		return 0;
	}
	id = rf_command_find(argv[1], NULL);
	if (id == RF_CMD_COUNT)
		return rf_command_unknown(argv[1], RF_CMD_COUNT);
	if (rf_cmd_table[id].main)
		return rf_cmd_table[id].main(argc - 1, argv + 1);
	if (argc < 3 || is_help(argv[2])) {
		rf_command_help(id, argc < 3 ? stderr : stdout);
		return argc < 3 ? RF_EXIT_FAILED : 0;
	}
	sub = rf_command_find(argv[1], argv[2]);
	if (sub == RF_CMD_COUNT || !rf_cmd_table[sub].main)
		return rf_command_unknown(argv[2], id);
	return rf_cmd_table[sub].main(argc - 2, argv + 2);
}
