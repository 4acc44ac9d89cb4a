/* The head of a program: src/jail/head.c. */
#include "jail/head.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"

RF_TEST(a_script_names_its_interpreter)
{
	/* clang-format off */
	static const struct { const char *text, *interpreter, *program; } cases[] = {
		{ "#!/bin/sh\n",                              "/bin/sh",      "" },
		{ "#!/bin/sh",                                "/bin/sh",      "" },
		{ "#! \t/bin/sh -e\nrest /bin/no\n",          "/bin/sh",      "" },
		{ "#!/usr/bin/python3 -I env\n",              "/usr/bin/python3", "" },
		{ "#!/usr/bin/env node\n",                    "/usr/bin/env", "node" },
		{ "#!/usr/bin/env -S node --flag\n",          "/usr/bin/env", "node" },
		{ "#!/usr/bin/env -Snode --flag\n",           "/usr/bin/env", "node" },
		{ "#!/usr/bin/env -i A=1 B= python3 c=d\n",   "/usr/bin/env", "python3" },
		{ "#!/usr/bin/env\n",                         "/usr/bin/env", "" },
		{ "#!/opt/env/sh node\n",                     "/opt/env/sh",  "" },
		{ "#!bin/sh\n",                               "",             "" },
		{ "#!\n/bin/sh\n",                            "",             "" },
		{ "# !/bin/sh\n",                             "",             "" },
		{ "",                                         "",             "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_head head;

		rf_head_parse(cases[i].text, strlen(cases[i].text), &head);
		RF_CHECK(strcmp(head.interpreter, cases[i].interpreter) == 0 &&
				 strcmp(head.program, cases[i].program) == 0,
			 "%s: \"%s\", \"%s\"", cases[i].text, head.interpreter, head.program);
		RF_CHECK(head.loader_len == 0, "%s has a loader", cases[i].text);
	}
}

RF_TEST(an_interpreter_that_the_kernel_would_cut_is_none)
{
	char text[400];
	struct rf_head head;

	snprintf(text, sizeof(text), "#!/%0300d", 0);
	rf_head_parse(text, strlen(text), &head);
	RF_CHECK(head.interpreter[0] == '\0', "%s", head.interpreter);
	snprintf(text, sizeof(text), "#!/bin/sh %0300d", 0);
	rf_head_parse(text, strlen(text), &head);
	RF_CHECK(strcmp(head.interpreter, "/bin/sh") == 0, "%s", head.interpreter);
}

/* An ELF header with `count` segments behind it. */
static size_t make_elf(unsigned char *bytes, const Elf64_Phdr *segments, size_t count)
{
	Elf64_Ehdr file = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			    .e_phoff = sizeof(file),
			    .e_phentsize = sizeof(*segments),
			    .e_phnum = (Elf64_Half)count };

	memcpy(bytes, &file, sizeof(file));
	memcpy(bytes + sizeof(file), segments, count * sizeof(*segments));
	return sizeof(file) + count * sizeof(*segments);
}

RF_TEST(an_elf_program_names_its_loader)
{
	static const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_offset = 0, .p_filesz = 4096 },
		{ .p_type = PT_INTERP, .p_offset = 5000, .p_filesz = 28 },
		{ .p_type = PT_INTERP, .p_offset = 6000, .p_filesz = 20 },
	};
	unsigned char bytes[512];
	struct rf_head head;
	size_t len = make_elf(bytes, segments, 3);

	rf_head_parse(bytes, len, &head);
	RF_CHECK(head.loader_at == 5000 && head.loader_len == 28, "%zu", head.loader_len);
	rf_head_parse(bytes, make_elf(bytes, segments, 1), &head);
	RF_CHECK(head.loader_len == 0, "a static program needs none: %zu", head.loader_len);
	for (size_t cut = 0; cut < len - 2 * sizeof(segments[0]); cut++) {
		make_elf(bytes, segments, 3);
		rf_head_parse(bytes, cut, &head);
		RF_CHECK(head.loader_len == 0, "cut at %zu", cut);
	}
}

RF_TEST(an_elf_header_that_points_anywhere_is_survived)
{
	/* clang-format off */
	static const struct { uint64_t phoff, filesz; uint16_t phnum; } cases[] = {
		{ UINT64_MAX, 20, 1 }, { UINT64_MAX - 8, 20, 65535 }, { 64, UINT64_MAX, 1 },
		{ 64, 1, 1 }, { 64, 0, 1 }, { 64, RF_HEAD_LOADER + 1, 1 }, { 1 << 20, 20, 2 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		Elf64_Phdr segment = { .p_type = PT_INTERP, .p_filesz = cases[i].filesz };
		unsigned char bytes[256];
		size_t len = make_elf(bytes, &segment, 1);
		struct rf_head head;

		memcpy(bytes + offsetof(Elf64_Ehdr, e_phoff), &cases[i].phoff, 8);
		memcpy(bytes + offsetof(Elf64_Ehdr, e_phnum), &cases[i].phnum, 2);
		rf_head_parse(bytes, len, &head);
		RF_CHECK(head.loader_len == 0, "case %zu: %zu", i, head.loader_len);
	}
}
