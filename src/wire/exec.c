/* What is said of kept boxes: see exec.h. */
#include "wire/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/pack.h"

#define PATH_ROOM 4096
#define ID_ROOM   24

void rf_exec_pack(const struct rf_exec *exec, struct rf_buf *out)
{
	rf_pack_string(out, exec->box);
	rf_pack_strings(out, (const char *const *)exec->argv);
	rf_pack_strings(out, (const char *const *)exec->env);
	rf_pack_string(out, exec->cwd);
	rf_pack_u64(out, exec->time_ms);
	rf_pack_bool(out, exec->is_background);
	rf_pack_bool(out, exec->has_terminal);
	rf_pack_bool(out, exec->is_porter);
}

/* What a program could not have, or would not mean what it says. */
static int check(const struct rf_exec *exec, struct rf_err *err)
{
	if (!exec->argv[0] || !exec->argv[0][0])
		return rf_fail_say(err, -EINVAL, "there is no program to start");
	if (exec->cwd && exec->cwd[0] != '/')
		return rf_fail_say(err, -EINVAL, "a working directory that is no absolute path");
	for (char *const *variable = exec->env; *variable; variable++)
		if (**variable == '=' || !strchr(*variable, '=')) {
			rf_fail_say(err, -EINVAL, "%.60s is no variable", *variable);
			return rf_fail_hint(err, "write it as NAME=VALUE");
		}
	if (exec->is_porter && exec->has_terminal)
		return rf_fail_say(err, -EINVAL, "a program of ours has no terminal");
	return 0;
}

int rf_exec_unpack(const void *data, size_t len, struct rf_exec *ret_exec, struct rf_err *err)
{
	struct rf_exec exec = { 0 };
	struct rf_pack_reader in;
	int code;

	rf_pack_read_init(&in, data, len);
	exec.box = rf_pack_read_string(&in, ID_ROOM);
	exec.argv = rf_pack_read_strings(&in, RF_EXEC_WORDS, RF_EXEC_BYTES);
	exec.env = rf_pack_read_strings(&in, RF_EXEC_WORDS, RF_EXEC_BYTES);
	exec.cwd = rf_pack_read_maybe(&in, PATH_ROOM);
	exec.time_ms = rf_pack_read_u64(&in);
	exec.is_background = rf_pack_read_bool(&in);
	exec.has_terminal = rf_pack_read_bool(&in);
	exec.is_porter = rf_pack_read_bool(&in);
	if (!rf_pack_is_whole(&in))
		code = rf_fail_say(err, -EBADMSG, "what to start is malformed");
	else
		code = check(&exec, err);
	if (code < 0) {
		rf_exec_done(&exec);
		return code;
	}
	*ret_exec = exec;
	return 0;
}

void rf_exec_done(struct rf_exec *exec)
{
	free((void *)(uintptr_t)exec->argv);
	free((void *)(uintptr_t)exec->env);
	*exec = (struct rf_exec){ 0 };
}

/* ------------------------------------------------------------- boxes */

const char *rf_exec_state_name(enum rf_exec_state state)
{
	static const char *const names[] = { "running", "frozen", "ending" };

	_Static_assert(RF_LEN(names) == RF_EXEC_STATES, "every state has a name");
	return state < RF_EXEC_STATES ? names[state] : "?";
}

void rf_exec_box_pack(const struct rf_exec_box *box, struct rf_buf *out)
{
	rf_pack_string(out, box->id);
	rf_pack_u32(out, box->state);
	rf_pack_u32(out, box->pid);
	rf_pack_u64(out, box->age_ms);
	rf_pack_u64(out, box->left_ms);
	rf_pack_u64(out, box->idle_ms);
	rf_pack_u64(out, box->cpu_ns);
	rf_pack_u64(out, box->memory_bytes);
	rf_pack_u64(out, box->memory_peak);
	rf_pack_u64(out, box->pids);
	rf_pack_u64(out, box->disk_bytes);
	rf_pack_string(out, box->note);
	rf_pack_u32(out, box->program_count);
	for (uint32_t i = 0; i < box->program_count; i++) {
		rf_pack_u32(out, box->programs[i].number);
		rf_pack_bool(out, box->programs[i].is_background);
		rf_pack_bool(out, box->programs[i].has_ended);
		rf_pack_string(out, box->programs[i].name);
	}
}

int rf_exec_box_next(const struct rf_wire_message *message, size_t *at, struct rf_exec_box *ret_box,
		     struct rf_err *err)
{
	struct rf_exec_box box = { 0 };
	struct rf_pack_reader in;

	if (*at >= message->len)
		return 0;
	rf_pack_read_init(&in, message->body + *at, message->len - *at);
	rf_pack_read_text(&in, box.id, sizeof(box.id));
	box.state = (enum rf_exec_state)rf_pack_read_below(&in, RF_EXEC_STATES);
	box.pid = rf_pack_read_u32(&in);
	box.age_ms = rf_pack_read_u64(&in);
	box.left_ms = rf_pack_read_u64(&in);
	box.idle_ms = rf_pack_read_u64(&in);
	box.cpu_ns = rf_pack_read_u64(&in);
	box.memory_bytes = rf_pack_read_u64(&in);
	box.memory_peak = rf_pack_read_u64(&in);
	box.pids = rf_pack_read_u64(&in);
	box.disk_bytes = rf_pack_read_u64(&in);
	rf_pack_read_text(&in, box.note, sizeof(box.note));
	box.program_count = rf_pack_read_below(&in, RF_EXEC_PROGRAMS + 1);
	for (uint32_t i = 0; i < box.program_count; i++) {
		box.programs[i].number = rf_pack_read_u32(&in);
		box.programs[i].is_background = rf_pack_read_bool(&in);
		box.programs[i].has_ended = rf_pack_read_bool(&in);
		rf_pack_read_text(&in, box.programs[i].name, sizeof(box.programs[i].name));
	}
	if (in.has_failed)
		return rf_fail_say(err, -EBADMSG, "a list of boxes is malformed");
	*at = (size_t)(in.at - message->body);
	*ret_box = box;
	return 1;
}
