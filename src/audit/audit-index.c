/* ringfort audit index: takes into the index what the log has by now. */
#include <inttypes.h>
#include <stdio.h>

#include "audit/audit-wish.h"
#include "audit/index.h"
#include "base/fd.h"
#include "base/statedir.h"

int rf_audit_index(const struct rf_audit_wish *wish, struct rf_err *err)
{
	RF_AUTO_FD int dir = rf_audit_wish_open(wish, err);
	RF_AUTO_FD int folder = -1;
	struct rf_index *index = NULL;
	uint64_t records = 0, covered = 0;
	int code;

	if (dir < 0)
		return dir;
	folder = rf_statedir_open_in(RF_INDEX_FOLDER, true);
	if (folder < 0)
		return rf_fail(err, folder, "make the folder of the index");
	if (wish->rebuilds && rf_index_remove(dir, folder, err) < 0)
		return err->code;
	if (rf_index_open(dir, folder, true, &index, err) < 0)
		return err->code;
	code = rf_index_update(index, &records, err);
	for (size_t i = 0; code == 0 && i < rf_index_count(index); i++)
		covered +=
			rf_index_tile(index, i)->last_seq - rf_index_tile(index, i)->first_seq + 1;
	rf_index_free(index);
	if (code == 0)
		printf("%" PRIu64 " records are indexed, %" PRIu64 " of them now\n", covered,
		       records);
	return code;
}
