/*
 * The rules of HTTP that a message can break.
 *
 * Every refusal in this folder is one of these: a value for programs, words for people, and the status that
 * fits as an answer where it was a request that broke the rule.  (Of a response it is the gateway's own 502.)
 */
#ifndef RF_HTTP_FAULT_H
#define RF_HTTP_FAULT_H

enum rf_fault {
	RF_FAULT_NONE,
	/* Lines: */
	RF_FAULT_BARE_LF,
	RF_FAULT_BARE_CR,
	RF_FAULT_CONTROL,
	RF_FAULT_START_LONG,
	RF_FAULT_FIELD_LONG,
	RF_FAULT_HEAD_LONG,
	RF_FAULT_FIELD_COUNT,
	/* The start line: */
	RF_FAULT_START_EMPTY,
	RF_FAULT_START_PARTS,
	RF_FAULT_METHOD,
	RF_FAULT_METHOD_LONG,
	RF_FAULT_VERSION_FORM,
	RF_FAULT_VERSION,
	RF_FAULT_STATUS,
	/* The target: */
	RF_FAULT_TARGET_OCTET,
	RF_FAULT_TARGET_FORM,
	RF_FAULT_TARGET_METHOD,
	RF_FAULT_SCHEME,
	RF_FAULT_USERINFO,
	/* Hosts: */
	RF_FAULT_HOST_EMPTY,
	RF_FAULT_HOST_OCTET,
	RF_FAULT_HOST_LABEL,
	RF_FAULT_HOST_LONG,
	RF_FAULT_HOST_NUMBER,
	RF_FAULT_HOST_IPV6,
	RF_FAULT_PORT,
	/* Fields: */
	RF_FAULT_FOLD,
	RF_FAULT_NAME,
	RF_FAULT_NAME_SPACE,
	RF_FAULT_NAME_ALIKE,
	RF_FAULT_NO_COLON,
	RF_FAULT_HOST_MISSING,
	RF_FAULT_HOST_TWICE,
	RF_FAULT_HOST_DIFFERS,
	RF_FAULT_LENGTH_TWICE,
	RF_FAULT_LENGTH,
	RF_FAULT_CODING_TWICE,
	RF_FAULT_CODING,
	RF_FAULT_CODING_OLD,
	RF_FAULT_LENGTH_AND_CODING,
	RF_FAULT_CONNECTION,
	RF_FAULT_EXPECT,
	/* Bodies: */
	RF_FAULT_BODY_UNWANTED,
	RF_FAULT_BODY_LONG,
	RF_FAULT_CHUNK_SIZE,
	RF_FAULT_CHUNK_LONG,
	RF_FAULT_CHUNK_EXTENSION,
	RF_FAULT_CHUNK_END,
	RF_FAULT_TRAILER_LONG,
	RF_FAULT_TRAILER_NAME,
	RF_FAULT_CUT,
	RF_FAULT_SWITCH,
	RF_FAULT_COUNT
};

/* The rule in words that fit behind "refused: ". */
const char *rf_fault_words(enum rf_fault fault);

/* The status that fits as an answer: 400, 413, 414, 417, 431, 501 or 505. */
int rf_fault_status(enum rf_fault fault);

#endif
