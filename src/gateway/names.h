/*
 * The addresses that stand for names inside one box.
 *
 * A program asks for a name, gets an address of ours, and connects to it; the address then says which name was meant.  Addresses are taken from
 * 28.0.0.0/8, one after the other from a random place: public to every program that looks (guards against request forgery refuse private and
 * test ranges), and given to nobody on the Internet's side.
 *
 * An address stands for one name for as long as the box lives: none is ever given a second time.  So what a program remembers, however long, is
 * that name or nothing.  What is bounded is how many names are remembered at a time: the one that was not asked for the longest goes, and
 * connections to its address are refused from then on; asked for again, it gets a new one.  A program that asks for a million names spends its
 * own, and nothing else.
 *
 * Pure: no system call.
 */
#ifndef RF_GATEWAY_NAMES_H
#define RF_GATEWAY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_NAMES_FIRST 0x1c000001u /* 28.0.0.1 */
#define RF_NAMES_COUNT 0x00fffffeu /* up to 28.255.255.254 */

struct rf_names;

/* Remembers `most` names; `key` is random, for its tables and for the first address.  NULL when memory is gone. */
struct rf_names *rf_names_new(size_t most, const uint64_t key[2]);
void rf_names_free(struct rf_names *names);

/* The address of a name in its one form, as a number.  0: there is no more, or memory is gone. */
uint32_t rf_names_give(struct rf_names *names, const char *name);

/* The name of an address (borrowed until the next rf_names_give()); NULL: it stands for none, or for one that is forgotten. */
const char *rf_names_find(struct rf_names *names, uint32_t address);

/* Whether an address is of those that stand for names, in this box or any other. */
bool rf_names_holds(uint32_t address);

size_t rf_names_count(const struct rf_names *names);
uint64_t rf_names_forgotten(const struct rf_names *names);

#endif
