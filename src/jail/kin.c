/* The boxes of a launcher that stays: see kin.h. */
#include "jail/kin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/record.h"

struct member {
	char id[17];
	pid_t pid;
	uint64_t ns[RF_NS_COUNT];
};

/* Of this process, which makes one box at a time. */
static struct {
	struct member *members;
	size_t count, room;
} kin;

/* A number alone is no proof: the kernel gives that of a dead namespace to a new one. */
static int check(const struct member *a, const struct member *b, struct rf_err *err)
{
	for (int i = 0; i < RF_NS_COUNT; i++)
		if (a->ns[i] != 0 && a->ns[i] == b->ns[i] &&
		    rf_record_is_inside(b->pid, i, b->ns[i]))
			return rf_fail_say(err, -EPERM,
					   "the proof failed: namespaces: shared with box %s",
					   b->id);
	return 0;
}

int rf_kin_join(const struct rf_box *box, const uint64_t ns[RF_NS_COUNT], struct rf_err *err)
{
	struct member member = { .pid = box->pid };

	memcpy(member.id, box->id, sizeof(member.id));
	memcpy(member.ns, ns, sizeof(member.ns));
	for (size_t i = 0; i < kin.count; i++)
		if (check(&member, &kin.members[i], err) < 0)
			return err->code;
	if (kin.count == kin.room) {
		size_t room = kin.room ? 2 * kin.room : 16;
		struct member *members = realloc(kin.members, room * sizeof(*members));

		if (!members)
			return rf_fail(err, -ENOMEM, "remember a box");
		kin.members = members;
		kin.room = room;
	}
	kin.members[kin.count++] = member;
	return 0;
}

void rf_kin_leave(const struct rf_box *box)
{
	for (size_t i = 0; i < kin.count; i++)
		if (strcmp(kin.members[i].id, box->id) == 0) {
			kin.members[i] = kin.members[--kin.count];
			return;
		}
}
