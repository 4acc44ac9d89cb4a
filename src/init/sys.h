/*
 * System calls without a libc, for pid 1.
 *
 * Pid 1 of a box starts in tens of microseconds because nothing runs before its own first line: no
 * loader, no relocations, no allocator.  Every call returns a negative errno on failure.
 */
#ifndef RF_INIT_SYS_H
#define RF_INIT_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define SYS_VFORK_FLAGS 0x4111L   /* CLONE_VM | CLONE_VFORK | SIGCHLD */
#define SYS_SPAWN_FLAGS 0x200111L /* CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD */

#if defined(__x86_64__)
static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * A child that shares our memory and runs fn(data) on its own stack.  With SYS_VFORK_FLAGS we wait for its exec or
 * end; with SYS_SPAWN_FLAGS we do not, and the kernel writes 0 to *left then, and wakes who waits there.  Returns its
 * pid or a negative errno.
 */
static inline long sys_clone(long flags, void (*fn)(void *), void *data, char *stack_top, int *left)
{
	register void (*call)(void *) __asm__("r12") = fn;
	register void *argument __asm__("r13") = data;
	register int *cleared __asm__("r10") = left;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(__NR_clone), "D"(flags), "S"(stack_top), "d"(0), "r"(cleared),
			   "r"(call), "r"(argument)
			 : "rcx", "r11", "memory");
	return ret;
}

/* The kernel enters with argc at the stack pointer; start() gets that pointer. */
#define SYS_ENTRY                                                                                  \
	__asm__(".globl _start\n"                                                                  \
		"_start:\n"                                                                        \
		"	xor %ebp, %ebp\n"                                                                \
		"	mov %rsp, %rdi\n"                                                                \
		"	and $-16, %rsp\n"                                                                \
		"	call start\n"                                                                    \
		"	hlt\n")
#elif defined(__aarch64__)
static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline long sys_clone(long flags, void (*fn)(void *), void *data, char *stack_top, int *left)
{
	register long nr __asm__("x8") = __NR_clone;
	register long first __asm__("x0") = flags;
	register char *second __asm__("x1") = stack_top;
	register int *cleared __asm__("x4") = left; /* the order of arm64's clone() is another */
	register void (*call)(void *) __asm__("x20") = fn;
	register void *argument __asm__("x21") = data;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, x21\n\t"
			 "blr x20\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(first)
			 : "r"(nr), "r"(second), "r"(cleared), "r"(call), "r"(argument)
			 : "memory", "x30");
	return first;
}

#define SYS_ENTRY                                                                                  \
	__asm__(".globl _start\n"                                                                  \
		"_start:\n"                                                                        \
		"	mov x29, #0\n"                                                                   \
		"	mov x0, sp\n"                                                                    \
		"	bl start\n"                                                                      \
		"	brk #1\n")
#else
#error "pid 1 does not know this architecture"
#endif

#define SYS(nr, a, b, c, d, e, f)                                                                  \
	sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS4(nr, a, b, c, d) SYS(nr, a, b, c, d, 0, 0)
#define SYS3(nr, a, b, c)    SYS(nr, a, b, c, 0, 0, 0)
#define SYS2(nr, a, b)       SYS(nr, a, b, 0, 0, 0, 0)
#define SYS1(nr, a)          SYS(nr, a, 0, 0, 0, 0, 0)
#define SYS0(nr)             SYS(nr, 0, 0, 0, 0, 0, 0)

static inline size_t sys_strlen(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

static inline int sys_starts_with(const char *text, const char *head)
{
	while (*head)
		if (*text++ != *head++)
			return 0;
	return 1;
}

#endif
