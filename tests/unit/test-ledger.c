/* The ledger of a workspace: src/workspace/ledger.c, and which points are kept: sweep.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "workspace/sweep.h"

#define LAYER "00112233445566aa"

static struct rf_ledger ledger;

static void begin(void)
{
	ledger = (struct rf_ledger){ .name = "fix",
				     .base = strdup("/home/me/p"),
				     .dev = 7,
				     .ino = 9,
				     .time = 5,
				     .next = 1 };
	RF_REQUIRE(ledger.base, "no memory");
}

static struct rf_point *add(const char *command)
{
	struct rf_point *point = rf_ledger_add(&ledger, LAYER, command);

	RF_REQUIRE(point, "no memory");
	return point;
}

static void format(struct rf_buf *out)
{
	rf_buf_init(out, 1 << 20);
	rf_ledger_format(&ledger, out);
	RF_REQUIRE(!out->has_failed, "it has no text");
}

RF_TEST(what_is_written_is_read_again)
{
	RF_AUTO_BUF struct rf_buf out, again;
	struct rf_err err;

	begin();
	memcpy(add("make \"all\"\n\x01")->name, "good", 5);
	rf_ledger_set_agent(&ledger.points[0], "bot");
	add("second")->changes = 12;
	ledger.head = 1;
	add("third");
	RF_REQUIRE(rf_ledger_add_apply(&ledger, LAYER), "no memory");
	ledger.is_applying = true;
	format(&out);
	rf_ledger_done(&ledger);
	RF_REQUIRE(rf_ledger_parse(out.data, out.len, &ledger, &err) == 0, "%s", err.msg);
	format(&again);
	RF_CHECK(strcmp(out.data, again.data) == 0, "%s", again.data);
	RF_CHECK(ledger.count == 3 && ledger.head == 3 && ledger.points[2].parent == 1, "head %u",
		 ledger.head);
	RF_CHECK(ledger.apply_count == 1 && ledger.applies[0].point == 3 &&
			 ledger.applies[0].since == 4 && rf_ledger_last_apply(&ledger),
		 "%zu applies", ledger.apply_count);
	RF_CHECK(strcmp(ledger.points[0].agent, "bot") == 0, "%s", ledger.points[0].agent);
	RF_CHECK(ledger.points[1].changes == 12, "%llu",
		 (unsigned long long)ledger.points[1].changes);
	rf_ledger_done(&ledger);
}

/* Replaces the first `old` of a good ledger by `new`, and expects that it is refused. */
static void expect_refusal(const char *old, const char *new)
{
	RF_AUTO_BUF struct rf_buf good, bad;
	struct rf_ledger other;
	struct rf_err err = RF_ERR_INIT;
	char *at;

	begin();
	add("one");
	add("two");
	RF_REQUIRE(rf_ledger_add_apply(&ledger, LAYER) && rf_ledger_add_apply(&ledger, LAYER),
		   "no memory");
	format(&good);
	at = strstr(good.data, old);
	RF_REQUIRE(at, "%s is not in it", old);
	rf_buf_init(&bad, 1 << 20);
	rf_buf_add(&bad, good.data, (size_t)(at - good.data));
	rf_buf_puts(&bad, new);
	rf_buf_puts(&bad, at + strlen(old));
	RF_CHECK(rf_ledger_parse(bad.data, bad.len, &other, &err) < 0 && err.msg[0],
		 "%s for %s was taken", new, old);
	rf_ledger_done(&other);
	rf_ledger_done(&ledger);
}

RF_TEST(what_is_wrong_is_refused)
{
	static const char *const swaps[][2] = {
		{ "\"format\": 2", "\"format\": 1" },
		{ "\"format\": 2,", "" },
		{ "\"name\": \"fix\"", "\"name\": \"../fix\"" },
		{ "\"base\": \"/home", "\"base\": \"home" },
		{ "\"head\": 2", "\"head\": 3" },
		{ "\"head\": 2", "\"head\": -1" },
		{ "\"next\": 3", "\"next\": 2" },
		{ "\"id\": 2", "\"id\": 1" },
		{ "\"id\": 1", "\"id\": 0" },
		{ "\"parent\": 1", "\"parent\": 2" },
		{ "\"parent\": 0", "\"parent\": 2" },
		{ "\"layer\": \"00112233445566aa\"", "\"layer\": \"../../../etc\"" },
		{ "\"layer\": \"00112233445566aa\"", "\"layer\": \"00112233445566AA\"" },
		{ "\"layer\": \"00112233445566aa\"", "\"layer\": \"00112233445566aa0\"" },
		{ "\"name\": \"\"", "\"name\": \"a/b\"" },
		{ "\"command\": \"one\"", "\"command\": 1" },
		{ "\"points\": [", "\"points\": [7, " },
		{ "\"began\": 2", "\"began\": 1" },
		{ "\"began\": 2", "\"began\": 3" },
		{ "\"applies\": [", "\"applies\": [7, " },
		{ "\"since\": 3", "\"since\": 4" },
		{ "\"since\": 3,\n      \"own\": 1\n    },",
		  "\"since\": 3,\n      \"own\": 2\n    }," },
		{ "\"inverse\": \"00112233445566aa\"", "\"inverse\": \"\"" },
	};

	for (size_t i = 0; i < RF_LEN(swaps); i++)
		expect_refusal(swaps[i][0], swaps[i][1]);
}

RF_TEST(a_name_is_short_and_has_no_slash)
{
	static const char *const good[] = { "a", "fix-bug", "v1.2_3", "0" };
	static const char *const bad[] = { "",    ".",   "..",  ".hidden",  "-x",
					   "a/b", "a b", "a\n", "\xc3\xa4", "_" };
	char longest[RF_LEDGER_NAME + 1];

	for (size_t i = 0; i < RF_LEN(good); i++)
		RF_CHECK(rf_ledger_is_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < RF_LEN(bad); i++)
		RF_CHECK(!rf_ledger_is_name(bad[i]), "%s", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[RF_LEDGER_NAME] = '\0';
	RF_CHECK(!rf_ledger_is_name(longest), "64 letters");
	longest[RF_LEDGER_NAME - 1] = '\0';
	RF_CHECK(rf_ledger_is_name(longest), "63 letters");
}

RF_TEST(what_neither_head_nor_checkpoint_stands_on_is_not_kept)
{
	bool keeps[6];

	begin();
	add("1");
	add("2");
	memcpy(add("3, from 2")->name, "good", 5);
	ledger.head = 2;
	add("4, from 2");
	add("5, from 4");
	ledger.head = 1;
	add("6, from 1");
	ledger.head = 2;
	rf_sweep_mark(&ledger, keeps);
	RF_CHECK(keeps[0] && keeps[1] && keeps[2],
		 "those beneath the head and the checkpoint are dropped");
	RF_CHECK(!keeps[3] && !keeps[4] && !keeps[5], "those that were undone are kept");
	rf_ledger_prune(&ledger, keeps);
	RF_CHECK(ledger.count == 3 && rf_ledger_point(&ledger, 3) && !rf_ledger_point(&ledger, 4),
		 "%zu", ledger.count);
	rf_ledger_done(&ledger);
}

/* The layers of a point, by the last letter of their names. */
static void expect_layers(uint32_t id, const char *letters, size_t runs)
{
	size_t found = 0, count = 0;
	const char **layers = rf_ledger_layers(&ledger, id, &found);
	char text[16] = "";

	RF_REQUIRE(layers, "no memory");
	for (; layers[count] && count + 1 < sizeof(text); count++)
		text[count] = layers[count][RF_LAYER_ID - 2];
	RF_CHECK(strcmp(text, letters) == 0 && found == runs, "@%u is %s, %zu of runs", id, text,
		 found);
	free(layers);
}

RF_TEST(what_was_applied_lies_beneath_all_that_began_before)
{
	begin();
	RF_REQUIRE(rf_ledger_add(&ledger, "000000000000000a", "1") &&
			   rf_ledger_add(&ledger, "000000000000000b", "2, from 1") &&
			   rf_ledger_add_apply(&ledger, "000000000000000c"),
		   "no memory");
	ledger.head = 0;
	RF_REQUIRE(rf_ledger_add(&ledger, "000000000000000d", "3, from the directory") &&
			   rf_ledger_add_apply(&ledger, "000000000000000e"),
		   "no memory");
	ledger.head = 2;
	RF_REQUIRE(rf_ledger_add(&ledger, "000000000000000f", "4, from 2"), "no memory");
	expect_layers(0, "", 0);
	expect_layers(1, "ace", 1);
	expect_layers(2, "bace", 2);
	expect_layers(3, "de", 1);
	expect_layers(4, "fbace", 3);
	rf_ledger_drop_apply(&ledger);
	expect_layers(3, "d", 1);
	expect_layers(4, "fbac", 3);
	ledger.applies[0].is_own = false;
	RF_CHECK(!rf_ledger_last_apply(&ledger), "another's apply could be taken back");
	rf_ledger_done(&ledger);
}

RF_TEST(a_ledger_is_full_at_its_maximum)
{
	begin();
	for (int i = 0; i < RF_LEDGER_POINTS; i++)
		add("x");
	RF_CHECK(!rf_ledger_add(&ledger, LAYER, "x"), "one more was taken");
	rf_ledger_done(&ledger);
}

RF_TEST(a_shadow_is_spent_when_nothing_of_it_is_left_to_take_back)
{
	begin();
	RF_CHECK(!rf_ledger_is_spent(&ledger), "an empty workspace of somebody's");
	ledger.is_shadow = true;
	RF_CHECK(rf_ledger_is_spent(&ledger), "one that was killed before it had a point");
	add("the run");
	RF_CHECK(rf_ledger_is_spent(&ledger), "one that was killed before it was applied");
	RF_REQUIRE(rf_ledger_add_apply(&ledger, LAYER), "no memory");
	RF_CHECK(!rf_ledger_is_spent(&ledger), "one that was applied");
	ledger.is_applying = true;
	RF_CHECK(!rf_ledger_is_spent(&ledger), "one that is being applied");
	rf_ledger_drop_apply(&ledger);
	RF_CHECK(!rf_ledger_is_spent(&ledger), "one that is being taken back");
	ledger.is_applying = false;
	memcpy(ledger.points[0].name, "good", 5);
	RF_CHECK(!rf_ledger_is_spent(&ledger), "one with a checkpoint");
	ledger.points[0].name[0] = '\0';
	add("another run");
	RF_CHECK(!rf_ledger_is_spent(&ledger), "one that somebody worked on in");
	rf_ledger_done(&ledger);
}

RF_TEST(older_ledgers_are_nobodys_shadow)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_err err;
	char *at;

	begin();
	ledger.is_shadow = true;
	format(&out);
	rf_ledger_done(&ledger);
	RF_REQUIRE(rf_ledger_parse(out.data, out.len, &ledger, &err) == 0, "%s", err.msg);
	RF_CHECK(ledger.is_shadow, "it is lost");
	rf_ledger_done(&ledger);
	at = strstr(out.data, "\"shadow\"");
	RF_REQUIRE(at, "%s", out.data);
	at[1] = 'S'; /* another member of the same length */
	RF_REQUIRE(rf_ledger_parse(out.data, out.len, &ledger, &err) == 0, "%s", err.msg);
	RF_CHECK(!ledger.is_shadow, "it is one");
	rf_ledger_done(&ledger);
}
