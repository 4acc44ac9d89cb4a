/* The filter on system calls of bench/floor's boxes. */
#ifndef BENCH_FLOOR_FILTER_H
#define BENCH_FLOOR_FILTER_H

#include <linux/filter.h>

/* As long as the one that a box of Ringfort's has by default, and a tree: few steps lead to any call's answer. */
const struct sock_fprog *floor_filter(void);

#endif
