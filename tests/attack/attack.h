/*
 * Attacks: tiny functions that each try one escape.
 *
 * One program holds them all: `attack NAME [ARGUMENTS]` tries one and prints one word and a second:
 *
 *     escaped [WHAT]     the deed was done; WHAT is what was stolen, if anything
 *     refused ERRNO      it was not, and this is what the kernel said
 *     killed SIGNAL      the kernel ended the attacker
 *
 * An attack knows nothing of walls: it must do its deed wherever nothing stops it, and the suite
 * shows that for each of them (catalogue.py).  None does harm where it succeeds: it reads, or it
 * touches what the suite made for it, or it passes arguments with which the deed can't be completed.
 */
#ifndef RF_ATTACK_H
#define RF_ATTACK_H

#include <stddef.h>

struct attack {
	const char *name;
	/* Returns 0 if it escaped, or a negative errno. */
	int (*run)(char **args);
};

/* The families; each ends with a row without a name. */
extern const struct attack attack_files[], attack_setid[], attack_mounts[], attack_processes[],
	attack_ipc[], attack_network[], attack_kernel[], attack_terminal[], attack_programs[],
	attack_alone[], attack_routes[], attack_hidden[], attack_reach[], attack_facts[],
	attack_surface[];

/* Who started this program. */
extern int attack_starter;

/* This program's first process; attacks run in a child of it. */
extern int attack_main;

/* Notes what was stolen; printed after the word. */
void attack_loot(const char *text);

/* Reads a descriptor's first bytes as loot and closes it.  Passes a negative errno through. */
int attack_read(int fd);

/* 0, or the negative errno of a call that has just failed. */
int attack_result(long result);

/*
 * For deeds that must not be completed: 0 if the kernel itself looked at the (senseless) arguments,
 * which it tells by an errno other than EPERM, EACCES or ENOSYS.
 */
int attack_reached(long result);

#endif
