/* The head of a program: see head.h. */
#include "jail/head.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define BLANKS " \t"

/* Copies the first `len` bytes of a word, if there is room. */
static void take_word(const char *word, size_t len, char name[RF_HEAD_NAME])
{
	if (len == 0 || len >= RF_HEAD_NAME)
		return;
	memcpy(name, word, len);
	name[len] = '\0';
}

/* The program that `env ARGUMENTS` starts: the first word that is neither option nor assignment. */
static void read_env(const char *at, struct rf_head *head)
{
	while (*(at += strspn(at, BLANKS))) {
		size_t len = strcspn(at, BLANKS);

		if (strncmp(at, "-S", 2) == 0) {
			at += 2; /* split: the rest is words, and the first may follow at once */
		} else if (at[0] == '-' || memchr(at, '=', len)) {
			at += len;
		} else {
			take_word(at, len, head->program);
			return;
		}
	}
}

/* As fs/binfmt_script.c reads it: an absolute path, then all the rest of the line as one argument. */
static void read_script(const char *bytes, size_t len, struct rf_head *head)
{
	char line[RF_HEAD_NAME];
	size_t size = len < sizeof(line) - 1 ? len : sizeof(line) - 1, path;
	const char *end = memchr(bytes, '\n', size), *base;
	char *at;

	memcpy(line, bytes, size);
	line[end ? (size_t)(end - bytes) : size] = '\0';
	at = line + 2 + strspn(line + 2, BLANKS);
	path = strcspn(at, BLANKS);
	if (at[0] != '/' || (!end && !at[path] && len > size))
		return; /* relative, or a path that was cut */
	take_word(at, path, head->interpreter);
	base = strrchr(head->interpreter, '/');
	if (base && strcmp(base, "/env") == 0)
		read_env(at + path, head);
}

static void read_elf(const char *bytes, size_t len, struct rf_head *head)
{
	Elf64_Ehdr file;

	if (len < sizeof(file))
		return;
	memcpy(&file, bytes, sizeof(file));
	if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_ident[EI_DATA] != ELFDATA2LSB ||
	    file.e_phentsize != sizeof(Elf64_Phdr))
		return; /* none that a box could start */
	for (size_t i = 0; i < file.e_phnum; i++) {
		Elf64_Phdr segment;

		if (file.e_phoff > len || (i + 1) * sizeof(segment) > len - file.e_phoff)
			return;
		memcpy(&segment, bytes + file.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz >= 2 && segment.p_filesz <= RF_HEAD_LOADER) {
			head->loader_at = segment.p_offset;
			head->loader_len = (size_t)segment.p_filesz;
		}
		return; /* the kernel, too, takes the first */
	}
}

void rf_head_parse(const void *bytes, size_t len, struct rf_head *ret_head)
{
	*ret_head = (struct rf_head){ 0 };
	if (len >= 2 && memcmp(bytes, "#!", 2) == 0)
		read_script(bytes, len, ret_head);
	else if (len >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0)
		read_elf(bytes, len, ret_head);
}
