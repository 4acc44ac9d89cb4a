/* What git reads about a repository: see gitconfig.h, and git-config(1) for the form. */
#include "policy/gitconfig.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/fd.h"

#define ANY "" /* a name: each in the section */

/* Where programs and further files are named. */
/* clang-format off */
static const struct meaning {
	const char *section, *name;
	enum rf_gitconfig_role role;
} meanings[] = {
	{ "include",     "path",                RF_GITCONFIG_INCLUDE },
	{ "includeif",   "path",                RF_GITCONFIG_INCLUDE },
	{ "core",        "hookspath",           RF_GITCONFIG_HOOKS },
	{ "core",        "attributesfile",      RF_GITCONFIG_ATTRIBUTES },
	{ "core",        "worktree",            RF_GITCONFIG_WORKTREE },
	{ "init",        "templatedir",         RF_GITCONFIG_TEMPLATE },
	{ "alias",       ANY,                   RF_GITCONFIG_COMMAND },
	{ "browser",     "cmd",                 RF_GITCONFIG_COMMAND },
	{ "browser",     "path",                RF_GITCONFIG_COMMAND },
	{ "core",        "alternaterefscommand", RF_GITCONFIG_COMMAND },
	{ "core",        "askpass",             RF_GITCONFIG_COMMAND },
	{ "core",        "editor",              RF_GITCONFIG_COMMAND },
	{ "core",        "fsmonitor",           RF_GITCONFIG_COMMAND },
	{ "core",        "gitproxy",            RF_GITCONFIG_COMMAND },
	{ "core",        "pager",               RF_GITCONFIG_COMMAND },
	{ "core",        "sshcommand",          RF_GITCONFIG_COMMAND },
	{ "credential",  "helper",              RF_GITCONFIG_COMMAND },
	{ "diff",        "command",             RF_GITCONFIG_COMMAND },
	{ "diff",        "external",            RF_GITCONFIG_COMMAND },
	{ "diff",        "textconv",            RF_GITCONFIG_COMMAND },
	{ "difftool",    "cmd",                 RF_GITCONFIG_COMMAND },
	{ "difftool",    "path",                RF_GITCONFIG_COMMAND },
	{ "filter",      "clean",               RF_GITCONFIG_COMMAND },
	{ "filter",      "process",             RF_GITCONFIG_COMMAND },
	{ "filter",      "smudge",              RF_GITCONFIG_COMMAND },
	{ "gpg",         "defaultkeycommand",   RF_GITCONFIG_COMMAND },
	{ "gpg",         "program",             RF_GITCONFIG_COMMAND },
	{ "guitool",     "cmd",                 RF_GITCONFIG_COMMAND },
	{ "hook",        "command",             RF_GITCONFIG_COMMAND },
	{ "interactive", "difffilter",          RF_GITCONFIG_COMMAND },
	{ "man",         "cmd",                 RF_GITCONFIG_COMMAND },
	{ "man",         "path",                RF_GITCONFIG_COMMAND },
	{ "merge",       "driver",              RF_GITCONFIG_COMMAND },
	{ "mergetool",   "cmd",                 RF_GITCONFIG_COMMAND },
	{ "mergetool",   "path",                RF_GITCONFIG_COMMAND },
	{ "pager",       ANY,                   RF_GITCONFIG_COMMAND },
	{ "remote",      "receivepack",         RF_GITCONFIG_COMMAND },
	{ "remote",      "uploadpack",          RF_GITCONFIG_COMMAND },
	{ "sendemail",   "cccmd",               RF_GITCONFIG_COMMAND },
	{ "sendemail",   "headercmd",           RF_GITCONFIG_COMMAND },
	{ "sendemail",   "sendmailcmd",         RF_GITCONFIG_COMMAND },
	{ "sendemail",   "smtpserver",          RF_GITCONFIG_COMMAND },
	{ "sendemail",   "tocmd",               RF_GITCONFIG_COMMAND },
	{ "sequence",    "editor",              RF_GITCONFIG_COMMAND },
	{ "submodule",   "update",              RF_GITCONFIG_COMMAND },
	{ "tar",         "command",             RF_GITCONFIG_COMMAND },
	{ "trailer",     "cmd",                 RF_GITCONFIG_COMMAND },
	{ "trailer",     "command",             RF_GITCONFIG_COMMAND },
	{ "uploadpack",  "packobjectshook",     RF_GITCONFIG_COMMAND },
};
/* clang-format on */

/* ------------------------------------------------------------- bytes */

/* The next byte, a line's end as '\n' however it is written, or -1. */
static int peek(const struct rf_gitconfig *c)
{
	if (c->at >= c->len)
		return -1;
	if (c->text[c->at] == '\r' && c->at + 1 < c->len && c->text[c->at + 1] == '\n')
		return '\n';
	return (unsigned char)c->text[c->at];
}

static int take(struct rf_gitconfig *c)
{
	int byte = peek(c);

	if (byte >= 0)
		c->at += byte == '\n' && c->text[c->at] == '\r' ? 2 : 1;
	return byte;
}

static void skip_line(struct rf_gitconfig *c)
{
	for (int byte = take(c); byte >= 0 && byte != '\n';)
		byte = take(c);
}

/* Appends a small letter.  A name that grows too long is none that we know. */
static void put_small(char *name, size_t size, size_t *len, int byte)
{
	if (*len + 1 < size)
		name[*len] = (char)tolower(byte);
	++*len;
	name[*len < size ? *len : 0] = '\0';
}

/* ------------------------------------------------------------- the form */

/* Behind `[`.  What stands in quotes is whose settings they are, and nothing to us. */
static int read_section(struct rf_gitconfig *c)
{
	size_t len = 0;
	bool has_dot = false;
	int byte;

	c->section[0] = '\0';
	while ((byte = take(c)) >= 0 && (isalnum(byte) || byte == '-' || byte == '.')) {
		has_dot |= byte == '.';
		if (!has_dot)
			put_small(c->section, sizeof(c->section), &len, byte);
	}
	while (byte == ' ' || byte == '\t')
		byte = take(c);
	if (byte == '"') {
		while ((byte = take(c)) >= 0 && byte != '"' && byte != '\n')
			if (byte == '\\' && take(c) == '\n')
				return -EINVAL;
		byte = byte == '"' ? take(c) : -1;
	}
	return byte == ']' ? 0 : -EINVAL;
}

/* The byte that a backslash in a value stands for, 0 for none, or -EINVAL. */
static int unescape(int byte)
{
	switch (byte) {
	case '\n':
		return 0; /* the value goes on in the next line */
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return byte;
	default:
		return -EINVAL;
	}
}

/* Behind `=`.  The value is never longer than the text that it was. */
static int read_value(struct rf_gitconfig *c)
{
	size_t len = 0, kept = 0; /* spaces at the end are none of it */
	bool is_quoted = false;
	int byte;

	while ((byte = take(c)) >= 0 && byte != '\n') {
		if (!is_quoted && (byte == '#' || byte == ';')) {
			skip_line(c);
			break;
		}
		if (byte == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (!is_quoted && isspace(byte)) {
			if (len > 0)
				c->value[len++] = (char)byte;
			continue;
		}
		if (byte == '\\') {
			byte = unescape(take(c));
			if (byte < 0)
				return byte;
			if (byte == 0)
				continue;
		}
		c->value[len++] = (char)byte;
		kept = len;
	}
	c->value[kept] = '\0';
	return is_quoted ? -EINVAL : 0;
}

static int read_setting(struct rf_gitconfig *c)
{
	size_t len = 0;

	c->name[0] = c->value[0] = '\0';
	while (isalnum(peek(c)) || peek(c) == '-')
		put_small(c->name, sizeof(c->name), &len, take(c));
	while (peek(c) == ' ' || peek(c) == '\t')
		take(c);
	if (peek(c) == '=') {
		take(c);
		return read_value(c);
	}
	if (peek(c) == '#' || peek(c) == ';')
		skip_line(c);
	return peek(c) < 0 || c->text[c->at - 1] == '\n' || peek(c) == '\n' ? 0 : -EINVAL;
}

void rf_gitconfig_init(struct rf_gitconfig *config, const char *text, size_t len, char *scratch)
{
	*config = (struct rf_gitconfig){ .text = text, .len = len, .value = scratch };
	scratch[0] = '\0';
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		config->at = 3;
}

int rf_gitconfig_next(struct rf_gitconfig *config)
{
	int byte;

	while ((byte = peek(config)) >= 0) {
		if (isalpha(byte))
			return read_setting(config) < 0 ? -EINVAL : 1;
		take(config);
		if (byte == '#' || byte == ';')
			skip_line(config);
		else if (byte == '[' ? read_section(config) < 0 : !isspace(byte))
			return -EINVAL;
	}
	return 0;
}

/* ------------------------------------------------------------- the meaning */

enum rf_gitconfig_role rf_gitconfig_role(const struct rf_gitconfig *config)
{
	if (!config->value[0] || (strcmp(config->section, "alias") == 0 && config->value[0] != '!'))
		return RF_GITCONFIG_OTHER; /* nothing, or another of git's own commands */
	for (size_t i = 0; i < RF_LEN(meanings); i++)
		if (strcmp(meanings[i].section, config->section) == 0 &&
		    (!*meanings[i].name || strcmp(meanings[i].name, config->name) == 0))
			return meanings[i].role;
	return RF_GITCONFIG_OTHER;
}

bool rf_gitconfig_read_path(const char *text, size_t len, char ret_path[PATH_MAX])
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len == 0 || len >= PATH_MAX || memchr(text, '\0', len))
		return false;
	memcpy(ret_path, text, len);
	ret_path[len] = '\0';
	return true;
}

bool rf_gitconfig_read_link(const char *text, size_t len, char ret_path[PATH_MAX])
{
	static const char begins[] = "gitdir: ";
	size_t before = sizeof(begins) - 1;

	return len > before && memcmp(text, begins, before) == 0 &&
	       rf_gitconfig_read_path(text + before, len - before, ret_path);
}

bool rf_gitconfig_next_file(const char **command, char ret_word[PATH_MAX])
{
	static const char apart[] = " \t\n\r\b\"'`;|&()<>!=,$";

	for (;;) {
		const char *word = *command + strspn(*command, apart);
		size_t len = strcspn(word, apart);

		*command = word + len;
		if (len == 0)
			return false;
		if (len < PATH_MAX && (memchr(word, '/', len) || memchr(word, '.', len))) {
			memcpy(ret_word, word, len);
			ret_word[len] = '\0';
			return true;
		}
	}
}
