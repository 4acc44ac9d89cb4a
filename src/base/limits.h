/* How much we read of what others wrote.  Every parser takes its bounds from here. */
#ifndef RF_BASE_LIMITS_H
#define RF_BASE_LIMITS_H

#define RF_MAX_POLICY_BYTES (1024 * 1024)      /* one policy file */
#define RF_MAX_POLICY_DEPTH 16                 /* nesting in one policy file */
#define RF_MAX_LIST         1024               /* elements in one list of a policy */
#define RF_MAX_NET_RULES    4096               /* rules about the network in one list */
#define RF_MAX_MASKS        64                 /* expressions of its own that one policy masks by */
#define RF_MAX_MASK_TEXT    512                /* bytes of one of them, with its NUL */
#define RF_MAX_CREDENTIALS  64                 /* that one policy names */
#define RF_MAX_EXTENDS      16                 /* elements of one `extends` */
#define RF_MAX_CHAIN        64                 /* sources that one policy is built from */
#define RF_MAX_CHAIN_DEPTH  8                  /* a profile that extends one that extends one ... */
#define RF_MAX_HIDDEN       4096               /* files that one box is kept from seeing */
#define RF_MAX_WALK         1000000            /* entries of a tree looked at for files to hide */
#define RF_MAX_BASE_SCAN    20000              /* entries of a workspace's directory */
#define RF_MAX_WALK_BYTES   (64 * 1024 * 1024) /* of folders that a walk has yet to look into */
#define RF_MAX_CONFIG_BYTES (256 * 1024)       /* the configuration */
#define RF_MAX_CONFIG_LIST  64                 /* elements in one list of it */
#define RF_MAX_CODE         (16 * 1024 * 1024) /* a program's text that is brought into a box */
#define RF_MAX_ENV_FILE     (1024 * 1024)
#define RF_MAX_CAPTURE      (128 * 1024 * 1024)  /* output kept for a result */
#define RF_MAX_JSON         (1024 * 1024 * 1024) /* one JSON document that we write */
#define RF_MAX_JSON_READ    (4 * 1024 * 1024)    /* one JSON document that we read */
#define RF_MAX_RULES        100000               /* in a system call profile, each name counted */
#define RF_MAX_FILTERS      8                    /* such profiles on one box */
#define RF_MAX_JSON_DEPTH   64                   /* nesting in it */

#endif
