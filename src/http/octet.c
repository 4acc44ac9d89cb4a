/*
 * What an octet may be part of: see octet.h.
 *
 * Each class is one condition below, and the compiler makes the table of them.
 *
 * TARGET is what RFC 3986 allows in a path and a query, and seven characters besides that it does not but that URLs as
 * browsers and fetch() write them contain: [ ] { } | ^ and the grave accent.  Still refused are those that servers
 * are known to read in different ways: the backslash (a slash to some), the number sign (the end to some), quotation
 * mark and angle brackets, and all that is not ASCII.
 */
#include "http/octet.h"

#define IN(c, low, high) ((c) >= (low) && (c) <= (high))

#define IS_UPPER(c) IN(c, 'A', 'Z')
#define IS_DIGIT(c) IN(c, '0', '9')
#define IS_ALNUM(c) (IS_UPPER(c) || IN(c, 'a', 'z') || IS_DIGIT(c))
#define IS_HEX(c)   (IS_DIGIT(c) || IN(c, 'a', 'f') || IN(c, 'A', 'F'))
#define IS_PLAIN(c) (IS_ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~')
#define IS_LABEL(c) (IS_ALNUM(c) || (c) == '-')

/* !#$%&'*+-.^_`|~ and letters and digits. */
#define IS_TOKEN(c)                                                                                \
	(IS_ALNUM(c) || (c) == '!' || IN(c, '#', '\'') || (c) == '*' || (c) == '+' ||              \
	 (c) == '-' || (c) == '.' || IN(c, '^', '`') || (c) == '|' || (c) == '~')
#define IS_TEXT(c) ((c) == '\t' || ((c) >= ' ' && (c) != 0x7f))
#define IS_TARGET(c)                                                                               \
	(IN(c, '!', '~') && (c) != '"' && (c) != '#' && (c) != '<' && (c) != '>' && (c) != '\\')

#define CLASSES(c)                                                                                 \
	(uint8_t)((IS_TOKEN(c) ? RF_OCTET_TOKEN : 0) | (IS_TEXT(c) ? RF_OCTET_TEXT : 0) |          \
		  (IS_TARGET(c) ? RF_OCTET_TARGET : 0) |                                           \
		  (IS_UPPER(c) || (c) == '-' ? RF_OCTET_METHOD : 0) |                              \
		  (IS_DIGIT(c) ? RF_OCTET_DIGIT : 0) | (IS_HEX(c) ? RF_OCTET_HEX : 0) |            \
		  (IS_LABEL(c) ? RF_OCTET_LABEL : 0) | (IS_PLAIN(c) ? RF_OCTET_PLAIN : 0))

#define FOUR(c)    CLASSES(c), CLASSES((c) + 1), CLASSES((c) + 2), CLASSES((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
#define ROWS(c)    SIXTEEN(c), SIXTEEN((c) + 16), SIXTEEN((c) + 32), SIXTEEN((c) + 48)

const uint8_t rf_octet_table[256] = { ROWS(0), ROWS(64), ROWS(128), ROWS(192) };
