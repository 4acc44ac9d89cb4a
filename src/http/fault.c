/* The rules of HTTP that a message can break: see fault.h. */
#include "http/fault.h"

/* clang-format off */
static const struct {
	int status;
	const char *words;
} faults[RF_FAULT_COUNT] = {
	[RF_FAULT_NONE]              = { 200, "nothing is wrong" },

	[RF_FAULT_BARE_LF]           = { 400, "a line ends in LF alone; it must end in CR LF" },
	[RF_FAULT_BARE_CR]           = { 400, "a CR that no LF follows" },
	[RF_FAULT_CONTROL]           = { 400, "a control character in the head" },
	[RF_FAULT_START_LONG]        = { 414, "the first line is too long" },
	[RF_FAULT_FIELD_LONG]        = { 431, "a field is too long" },
	[RF_FAULT_HEAD_LONG]         = { 431, "the head is too long" },
	[RF_FAULT_FIELD_COUNT]       = { 431, "too many fields" },

	[RF_FAULT_START_EMPTY]       = { 400, "an empty line where the message should begin" },
	[RF_FAULT_START_PARTS]       = { 400, "the first line is not of three parts with one space between them" },
	[RF_FAULT_METHOD]            = { 400, "a method is made of upper-case letters and hyphens" },
	[RF_FAULT_METHOD_LONG]       = { 501, "no method has so long a name" },
	[RF_FAULT_VERSION_FORM]      = { 400, "the version is not of the form HTTP/1.1" },
	[RF_FAULT_VERSION]           = { 505, "a version other than HTTP/1.0 and HTTP/1.1" },
	[RF_FAULT_STATUS]            = { 400, "a status is a number from 100 to 599, of three digits" },

	[RF_FAULT_TARGET_OCTET]      = { 400, "a character that no target may contain; it must be percent-coded" },
	[RF_FAULT_TARGET_FORM]       = { 400, "the target is neither a path nor a URL" },
	[RF_FAULT_TARGET_METHOD]     = { 400, "a target of a form that this method does not have" },
	[RF_FAULT_SCHEME]            = { 400, "a URL whose scheme is neither http nor https" },
	[RF_FAULT_USERINFO]          = { 400, "a user or password in front of a host" },

	[RF_FAULT_PATH_PERCENT]      = { 400, "a percent sign in a path that two hexadecimal digits do not follow" },
	[RF_FAULT_PATH_CONTROL]      = { 400, "a control character in a path, percent-coded or not" },
	[RF_FAULT_PATH_UTF8]         = { 400, "a path that is no UTF-8 when it is decoded" },
	[RF_FAULT_PATH_DOTS]         = { 400, "a path that leads above the root, or has a dot segment with a parameter" },
	[RF_FAULT_PATH_LONG]         = { 414, "the path is too long" },

	[RF_FAULT_HOST_EMPTY]        = { 400, "an empty host" },
	[RF_FAULT_HOST_OCTET]        = { 400, "a host is made of letters, digits, hyphens and dots; other scripts as xn-- labels" },
	[RF_FAULT_HOST_LABEL]        = { 400, "a host with a label that is empty, longer than 63, or has a hyphen at an end" },
	[RF_FAULT_HOST_LONG]         = { 400, "a host longer than 253 characters" },
	[RF_FAULT_HOST_NUMBER]       = { 400, "an IPv4 address is four decimal numbers, with no zeros in front" },
	[RF_FAULT_HOST_IPV6]         = { 400, "not an IPv6 address in brackets, without a zone" },
	[RF_FAULT_PORT]              = { 400, "a port is a number from 1 to 65535, with no zeros in front" },

	[RF_FAULT_FOLD]              = { 400, "a field begins with white space: folded lines are obsolete" },
	[RF_FAULT_NAME]              = { 400, "a character that no field's name may contain, or no name" },
	[RF_FAULT_NAME_SPACE]        = { 400, "white space between a field's name and its colon" },
	[RF_FAULT_NAME_ALIKE]        = { 400, "a field's name that is like one of HTTP's own but for an underscore" },
	[RF_FAULT_NAME_OWN]          = { 400, "a field that says where a message ends, or whom it is for, among others" },
	[RF_FAULT_VALUE]             = { 400, "a control character in a field's value, or white space at its ends" },
	[RF_FAULT_NO_COLON]          = { 400, "a field without a colon" },
	[RF_FAULT_HOST_MISSING]      = { 400, "HTTP/1.1 needs a Host field" },
	[RF_FAULT_HOST_TWICE]        = { 400, "more than one Host field" },
	[RF_FAULT_HOST_DIFFERS]      = { 400, "the Host field names another host or port than the target" },
	[RF_FAULT_LENGTH_TWICE]      = { 400, "more than one Content-Length field" },
	[RF_FAULT_LENGTH]            = { 400, "a Content-Length that is no plain decimal number" },
	[RF_FAULT_CODING_TWICE]      = { 400, "more than one Transfer-Encoding field" },
	[RF_FAULT_CODING]            = { 501, "a Transfer-Encoding other than exactly \"chunked\"" },
	[RF_FAULT_CODING_OLD]        = { 400, "a Transfer-Encoding in HTTP/1.0, which has none" },
	[RF_FAULT_LENGTH_AND_CODING] = { 400, "both Content-Length and Transfer-Encoding" },
	[RF_FAULT_CONNECTION]        = { 400, "a Connection field that is no list of names, or names what must not be dropped" },
	[RF_FAULT_EXPECT]            = { 417, "an Expect other than 100-continue" },

	[RF_FAULT_BODY_UNWANTED]     = { 400, "a body where there can be none" },
	[RF_FAULT_BODY_LONG]         = { 413, "the body is too long" },
	[RF_FAULT_CHUNK_SIZE]        = { 400, "a chunk's size that is no plain hexadecimal number" },
	[RF_FAULT_CHUNK_LONG]        = { 400, "a chunk's first line, or all extensions together, are too long" },
	[RF_FAULT_CHUNK_EXTENSION]   = { 400, "a chunk's extension is not of the form ;name=value" },
	[RF_FAULT_CHUNK_END]         = { 400, "a chunk's data is not followed by CR LF" },
	[RF_FAULT_TRAILER_LONG]      = { 431, "the trailer is too long" },
	[RF_FAULT_TRAILER_NAME]      = { 400, "a field in the trailer that only a head may have" },
	[RF_FAULT_CUT]               = { 400, "the connection ended within a message" },
	[RF_FAULT_SWITCH]            = { 400, "another protocol than was asked for, or none was" },
};
/* clang-format on */

const char *rf_fault_words(enum rf_fault fault)
{
	return (unsigned)fault < RF_FAULT_COUNT ? faults[fault].words : "an unknown fault";
}

int rf_fault_status(enum rf_fault fault)
{
	return (unsigned)fault < RF_FAULT_COUNT ? faults[fault].status : 400;
}
