/*
 * Messages that two parties could read differently, as attackers are known to send them: each is refused, by the rule that it
 * breaks, however its bytes are cut.  Reads through src/http/http1.c.
 */
#include <stdio.h>

#include "base/fd.h"
#include "harness.h"
#include "transcript.h"

#define END         "\r\n"
#define POST        "POST / HTTP/1.1" END "Host: a" END
#define CHUNKS      POST "Transfer-Encoding: chunked" END END
#define NEXT        "GET /smuggled HTTP/1.1" END "Host: a" END END
#define BYTES(text) text, sizeof(text) - 1

struct vector {
	const char *what, *bytes;
	size_t len;
	enum rf_fault fault;
};

/* clang-format off */
static const struct vector requests[] = {
	/* Two lengths. */
	{ "CL.TE", BYTES(POST "Content-Length: 6" END "Transfer-Encoding: chunked" END END "0" END END "G"), RF_FAULT_LENGTH_AND_CODING },
	{ "TE.CL", BYTES(POST "Transfer-Encoding: chunked" END "Content-Length: 4" END END "5c" END), RF_FAULT_LENGTH_AND_CODING },
	{ "CL.0 with TE", BYTES(POST "Content-Length: 0" END "Transfer-Encoding: chunked" END END "0" END END), RF_FAULT_LENGTH_AND_CODING },
	{ "CL.CL", BYTES(POST "Content-Length: 0" END "Content-Length: 44" END END NEXT), RF_FAULT_LENGTH_TWICE },
	{ "CL.CL, equal", BYTES(POST "Content-Length: 1" END "Content-Length: 1" END END "1"), RF_FAULT_LENGTH_TWICE },
	{ "CL.CL, other case", BYTES(POST "content-length: 1" END "CONTENT-LENGTH: 2" END END "1"), RF_FAULT_LENGTH_TWICE },

	/* A length that is none. */
	{ "plus sign", BYTES(POST "Content-Length: +5" END END "12345"), RF_FAULT_LENGTH },
	{ "minus sign", BYTES(POST "Content-Length: -5" END END "12345"), RF_FAULT_LENGTH },
	{ "minus zero", BYTES(POST "Content-Length: -0" END END), RF_FAULT_LENGTH },
	{ "list of equals", BYTES(POST "Content-Length: 5, 5" END END "12345"), RF_FAULT_LENGTH },
	{ "list", BYTES(POST "Content-Length: 5,6" END END "12345"), RF_FAULT_LENGTH },
	{ "comma behind", BYTES(POST "Content-Length: 5," END END "12345"), RF_FAULT_LENGTH },
	{ "hexadecimal", BYTES(POST "Content-Length: 0x5" END END "12345"), RF_FAULT_LENGTH },
	{ "zeros in front", BYTES(POST "Content-Length: 010" END END "12345678"), RF_FAULT_LENGTH },
	{ "fraction", BYTES(POST "Content-Length: 5.0" END END "12345"), RF_FAULT_LENGTH },
	{ "exponent", BYTES(POST "Content-Length: 5e0" END END "12345"), RF_FAULT_LENGTH },
	{ "underscore within", BYTES(POST "Content-Length: 1_0" END END "1234567890"), RF_FAULT_LENGTH },
	{ "space within", BYTES(POST "Content-Length: 1 0" END END "1"), RF_FAULT_LENGTH },
	{ "quoted", BYTES(POST "Content-Length: \"5\"" END END "12345"), RF_FAULT_LENGTH },
	{ "empty", BYTES(POST "Content-Length:" END END), RF_FAULT_LENGTH },
	{ "blank", BYTES(POST "Content-Length: \t " END END), RF_FAULT_LENGTH },
	{ "one more than 64 bits", BYTES(POST "Content-Length: 18446744073709551616" END END), RF_FAULT_LENGTH },
	{ "wraps to 5", BYTES(POST "Content-Length: 18446744073709551621" END END "12345"), RF_FAULT_LENGTH },
	{ "digits of another script", BYTES(POST "Content-Length: \xd9\xa5" END END "12345"), RF_FAULT_LENGTH },
	{ "vertical tab in front", BYTES(POST "Content-Length: \x0b" "5" END END "12345"), RF_FAULT_CONTROL },
	{ "form feed behind", BYTES(POST "Content-Length: 5\x0c" END END "12345"), RF_FAULT_CONTROL },
	{ "NUL behind", BYTES(POST "Content-Length: 5\0" END END "12345"), RF_FAULT_CONTROL },
	{ "no-break space in front", BYTES(POST "Content-Length:\xa0" "5" END END "12345"), RF_FAULT_LENGTH },

	/* A coding that is nearly one. */
	{ "two codings", BYTES(POST "Transfer-Encoding: chunked" END "Transfer-Encoding: chunked" END END "0" END END), RF_FAULT_CODING_TWICE },
	{ "chunked and identity", BYTES(POST "Transfer-Encoding: chunked" END "Transfer-Encoding: identity" END END "0" END END), RF_FAULT_CODING_TWICE },
	{ "identity", BYTES(POST "Transfer-Encoding: identity" END "Content-Length: 1" END END "1"), RF_FAULT_CODING },
	{ "xchunked", BYTES(POST "Transfer-Encoding: xchunked" END END "0" END END), RF_FAULT_CODING },
	{ "chunkedx", BYTES(POST "Transfer-Encoding: chunkedx" END END "0" END END), RF_FAULT_CODING },
	{ "Chunked", BYTES(POST "Transfer-Encoding: Chunked" END END "0" END END), RF_FAULT_CODING },
	{ "gzip, chunked", BYTES(POST "Transfer-Encoding: gzip, chunked" END END "0" END END), RF_FAULT_CODING },
	{ "chunked, chunked", BYTES(POST "Transfer-Encoding: chunked, chunked" END END "0" END END), RF_FAULT_CODING },
	{ "chunked, identity", BYTES(POST "Transfer-Encoding: chunked, identity" END END "0" END END), RF_FAULT_CODING },
	{ "comma in front", BYTES(POST "Transfer-Encoding: ,chunked" END END "0" END END), RF_FAULT_CODING },
	{ "comma behind", BYTES(POST "Transfer-Encoding: chunked," END END "0" END END), RF_FAULT_CODING },
	{ "a parameter", BYTES(POST "Transfer-Encoding: chunked;q=1" END END "0" END END), RF_FAULT_CODING },
	{ "quoted", BYTES(POST "Transfer-Encoding: \"chunked\"" END END "0" END END), RF_FAULT_CODING },
	{ "empty", BYTES(POST "Transfer-Encoding:" END END "0" END END), RF_FAULT_CODING },
	{ "folded", BYTES(POST "Transfer-Encoding:" END " chunked" END END "0" END END), RF_FAULT_FOLD },
	{ "folded by a tab", BYTES(POST "Transfer-Encoding:" END "\tchunked" END END "0" END END), RF_FAULT_FOLD },
	{ "vertical tab", BYTES(POST "Transfer-Encoding:\x0b" "chunked" END END "0" END END), RF_FAULT_CONTROL },
	{ "NUL", BYTES(POST "Transfer-Encoding: chunked\0" END END "0" END END), RF_FAULT_CONTROL },
	{ "DEL", BYTES(POST "Transfer-Encoding: chunked\x7f" END END "0" END END), RF_FAULT_CONTROL },
	{ "high byte", BYTES(POST "Transfer-Encoding: \xff" "chunked" END END "0" END END), RF_FAULT_CODING },
	{ "space before the colon", BYTES(POST "Transfer-Encoding : chunked" END END "0" END END), RF_FAULT_NAME_SPACE },
	{ "tab before the colon", BYTES(POST "Transfer-Encoding\t: chunked" END END "0" END END), RF_FAULT_NAME_SPACE },
	{ "space in front", BYTES(POST " Transfer-Encoding: chunked" END END "0" END END), RF_FAULT_FOLD },
	{ "behind another by CR", BYTES(POST "X: x\rTransfer-Encoding: chunked" END END "0" END END), RF_FAULT_BARE_CR },
	{ "behind another by LF", BYTES(POST "X: x\nTransfer-Encoding: chunked" END END "0" END END), RF_FAULT_BARE_LF },
	{ "underscore", BYTES(POST "Transfer_Encoding: chunked" END END "0" END END), RF_FAULT_NAME_ALIKE },
	{ "in HTTP/1.0", BYTES("POST / HTTP/1.0" END "Transfer-Encoding: chunked" END END "0" END END), RF_FAULT_CODING_OLD },

	/* Names. */
	{ "underscore in the length", BYTES(POST "Content_Length: 5" END END), RF_FAULT_NAME_ALIKE },
	{ "space before the colon", BYTES(POST "Content-Length : 5" END END "12345"), RF_FAULT_NAME_SPACE },
	{ "space within", BYTES(POST "Content Length: 5" END END "12345"), RF_FAULT_NAME },
	{ "no name", BYTES(POST ": 5" END END), RF_FAULT_NAME },
	{ "no colon", BYTES(POST "Content-Length 5" END END "12345"), RF_FAULT_NO_COLON },
	{ "no colon at all", BYTES(POST "GET /admin HTTP/1.1" END END), RF_FAULT_NO_COLON },
	{ "NUL in a name", BYTES(POST "Content\0-Length: 5" END END), RF_FAULT_CONTROL },
	{ "NUL before a name", BYTES(POST "\0Content-Length: 5" END END), RF_FAULT_CONTROL },
	{ "high byte in a name", BYTES(POST "Content-Length\xff: 5" END END), RF_FAULT_NAME },
	{ "brackets in a name", BYTES(POST "[Content-Length]: 5" END END), RF_FAULT_NAME },
	{ "slash in a name", BYTES(POST "Content/Length: 5" END END), RF_FAULT_NAME },
	{ "quoted name", BYTES(POST "\"Content-Length\": 5" END END), RF_FAULT_NAME },
	{ "first field folded", BYTES("GET / HTTP/1.1" END " Host: a" END END), RF_FAULT_FOLD },
	{ "connection drops the length", BYTES(POST "Content-Length: 5" END "Connection: Content-Length" END END "12345"), RF_FAULT_CONNECTION },
	{ "connection drops the coding", BYTES(POST "Connection: close, transfer-encoding" END END), RF_FAULT_CONNECTION },
	{ "connection drops the host", BYTES(POST "Connection: host" END END), RF_FAULT_CONNECTION },
	{ "connection with no names", BYTES(POST "Connection: close; x" END END), RF_FAULT_CONNECTION },

	/* Lines. */
	{ "LF only", BYTES("GET / HTTP/1.1\nHost: a\n\n"), RF_FAULT_BARE_LF },
	{ "LF behind a field", BYTES(POST "X: 1\n" END), RF_FAULT_BARE_LF },
	{ "LF as the empty line", BYTES(POST "\n" NEXT), RF_FAULT_BARE_LF },
	{ "CR only", BYTES("GET / HTTP/1.1\rHost: a\r\r"), RF_FAULT_BARE_CR },
	{ "two CR", BYTES("GET / HTTP/1.1" END "Host: a\r" END END), RF_FAULT_BARE_CR },
	{ "CR as the empty line", BYTES(POST "\rX" END), RF_FAULT_BARE_CR },
	{ "CR in a value", BYTES(POST "X: a\rb" END END), RF_FAULT_BARE_CR },
	{ "NUL in a value", BYTES(POST "X: a\0b" END END), RF_FAULT_CONTROL },
	{ "NUL as the line", BYTES(POST "\0" END END), RF_FAULT_CONTROL },
	{ "escape in a value", BYTES(POST "X: \x1b[2J" END END), RF_FAULT_CONTROL },
	{ "empty line first", BYTES(END "GET / HTTP/1.1" END "Host: a" END END), RF_FAULT_START_EMPTY },

	/* The first line. */
	{ "HTTP/0.9", BYTES("GET /" END END), RF_FAULT_START_PARTS },
	{ "two spaces", BYTES("GET  / HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "two spaces behind", BYTES("GET /  HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "space at the end", BYTES("GET / HTTP/1.1 " END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "space in front", BYTES(" GET / HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "tab for a space", BYTES("GET\t/ HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "space in the target", BYTES("GET /a b HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "two versions", BYTES("GET / HTTP/1.1 HTTP/1.1" END "Host: a" END END), RF_FAULT_START_PARTS },
	{ "lower case", BYTES("get / HTTP/1.1" END "Host: a" END END), RF_FAULT_METHOD },
	{ "colon in the method", BYTES("GET: / HTTP/1.1" END "Host: a" END END), RF_FAULT_METHOD },
	{ "method without end", BYTES("AAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1" END "Host: a" END END), RF_FAULT_METHOD_LONG },
	{ "lower-case version", BYTES("GET / http/1.1" END "Host: a" END END), RF_FAULT_VERSION_FORM },
	{ "long version", BYTES("GET / HTTP/1.10" END "Host: a" END END), RF_FAULT_VERSION_FORM },
	{ "zero in the version", BYTES("GET / HTTP/01.1" END "Host: a" END END), RF_FAULT_VERSION_FORM },
	{ "no version", BYTES("GET / HTTP/" END "Host: a" END END), RF_FAULT_VERSION_FORM },
	{ "comma in the version", BYTES("GET / HTTP/1,1" END "Host: a" END END), RF_FAULT_VERSION_FORM },
	{ "HTTP/1.2", BYTES("GET / HTTP/1.2" END "Host: a" END END), RF_FAULT_VERSION },
	{ "HTTP/0.9 by name", BYTES("GET / HTTP/0.9" END END), RF_FAULT_VERSION },
	{ "HTTP/2 preface", BYTES("PRI * HTTP/2.0" END END "SM" END END), RF_FAULT_VERSION },

	/* Targets. */
	{ "high byte", BYTES("GET /\xc3\xa9 HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },
	{ "backslash", BYTES("GET /a\\b HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },
	{ "fragment", BYTES("GET /a#b HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },
	{ "quotation mark", BYTES("GET /\" HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },
	{ "tab", BYTES("GET /a\tb HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },
	{ "no slash", BYTES("GET a HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_FORM },
	{ "host and port", BYTES("GET a:80 HTTP/1.1" END "Host: a" END END), RF_FAULT_SCHEME },
	{ "asterisk", BYTES("GET * HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_METHOD },
	{ "CONNECT to a path", BYTES("CONNECT / HTTP/1.1" END "Host: a" END END), RF_FAULT_HOST_OCTET },
	{ "CONNECT to a URL", BYTES("CONNECT http://a/ HTTP/1.1" END "Host: a" END END), RF_FAULT_PORT },
	{ "CONNECT without a port", BYTES("CONNECT a HTTP/1.1" END "Host: a" END END), RF_FAULT_PORT },
	{ "CONNECT with a user", BYTES("CONNECT a@b:443 HTTP/1.1" END "Host: b:443" END END), RF_FAULT_USERINFO },
	{ "CONNECT with a body", BYTES("CONNECT a:443 HTTP/1.1" END "Host: a" END "Content-Length: 1" END END "1"), RF_FAULT_BODY_UNWANTED },
	{ "CONNECT with chunks", BYTES("CONNECT a:443 HTTP/1.1" END "Host: a" END "Transfer-Encoding: chunked" END END "0" END END), RF_FAULT_BODY_UNWANTED },
	{ "user in a URL", BYTES("GET http://good@evil/ HTTP/1.1" END "Host: good" END END), RF_FAULT_USERINFO },
	{ "password in a URL", BYTES("GET http://u:p@evil/ HTTP/1.1" END "Host: evil" END END), RF_FAULT_USERINFO },
	{ "other scheme", BYTES("GET file:///etc/passwd HTTP/1.1" END "Host: a" END END), RF_FAULT_SCHEME },
	{ "one slash", BYTES("GET http:/a/ HTTP/1.1" END "Host: a" END END), RF_FAULT_SCHEME },
	{ "backslashes", BYTES("GET http:\\\\a/ HTTP/1.1" END "Host: a" END END), RF_FAULT_SCHEME },
	{ "backslash behind the host", BYTES("GET http://a\\@b/ HTTP/1.1" END "Host: a" END END), RF_FAULT_USERINFO },
	{ "no host", BYTES("GET http:///x HTTP/1.1" END "Host: a" END END), RF_FAULT_HOST_EMPTY },
	{ "number sign behind the host", BYTES("GET http://a#@b/ HTTP/1.1" END "Host: a" END END), RF_FAULT_TARGET_OCTET },

	/* Hosts. */
	{ "no Host", BYTES("GET / HTTP/1.1" END END), RF_FAULT_HOST_MISSING },
	{ "no Host with a URL", BYTES("GET http://a/ HTTP/1.1" END END), RF_FAULT_HOST_MISSING },
	{ "two hosts", BYTES("GET / HTTP/1.1" END "Host: a" END "Host: b" END END), RF_FAULT_HOST_TWICE },
	{ "the same twice", BYTES("GET / HTTP/1.1" END "Host: a" END "host: a" END END), RF_FAULT_HOST_TWICE },
	{ "two in HTTP/1.0", BYTES("GET / HTTP/1.0" END "Host: a" END "Host: b" END END), RF_FAULT_HOST_TWICE },
	{ "list of hosts", BYTES("GET / HTTP/1.1" END "Host: a, b" END END), RF_FAULT_HOST_OCTET },
	{ "empty", BYTES("GET / HTTP/1.1" END "Host:" END END), RF_FAULT_HOST_EMPTY },
	{ "port alone", BYTES("GET / HTTP/1.1" END "Host: :80" END END), RF_FAULT_HOST_EMPTY },
	{ "empty port", BYTES("GET / HTTP/1.1" END "Host: a:" END END), RF_FAULT_PORT },
	{ "user", BYTES("GET / HTTP/1.1" END "Host: good@evil" END END), RF_FAULT_USERINFO },
	{ "path", BYTES("GET / HTTP/1.1" END "Host: a/b" END END), RF_FAULT_HOST_OCTET },
	{ "other than the URL's", BYTES("GET http://a/ HTTP/1.1" END "Host: b" END END), RF_FAULT_HOST_DIFFERS },
	{ "other port than the URL's", BYTES("GET http://a:81/ HTTP/1.1" END "Host: a" END END), RF_FAULT_HOST_DIFFERS },
	{ "other scheme's port", BYTES("GET https://a/ HTTP/1.1" END "Host: a:80" END END), RF_FAULT_HOST_DIFFERS },
	{ "other than CONNECT's", BYTES("CONNECT a:443 HTTP/1.1" END "Host: b:443" END END), RF_FAULT_HOST_DIFFERS },
	{ "other port than CONNECT's", BYTES("CONNECT a:443 HTTP/1.1" END "Host: a:80" END END), RF_FAULT_HOST_DIFFERS },
	{ "NUL in the host", BYTES("GET / HTTP/1.1" END "Host: evil\0.good" END END), RF_FAULT_CONTROL },
	{ "percent-coded NUL", BYTES("GET / HTTP/1.1" END "Host: evil%00.good" END END), RF_FAULT_HOST_OCTET },

	/* Expectations. */
	{ "unknown", BYTES(POST "Expect: 200-ok" END END), RF_FAULT_EXPECT },
	{ "twice", BYTES(POST "Expect: 100-continue" END "Expect: 100-continue" END END), RF_FAULT_EXPECT },

	/* Chunks. */
	{ "no size", BYTES(CHUNKS END END), RF_FAULT_CHUNK_SIZE },
	{ "0x", BYTES(CHUNKS "0x5" END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "plus", BYTES(CHUNKS "+5" END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "minus", BYTES(CHUNKS "-1" END), RF_FAULT_CHUNK_SIZE },
	{ "space in front", BYTES(CHUNKS " 5" END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "space behind", BYTES(CHUNKS "5 " END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "underscore", BYTES(CHUNKS "1_0" END), RF_FAULT_CHUNK_SIZE },
	{ "no hexadecimal", BYTES(CHUNKS "g" END), RF_FAULT_CHUNK_SIZE },
	{ "17 digits", BYTES(CHUNKS "10000000000000005" END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "wraps to 0", BYTES(CHUNKS "100000000" "00000000" END END NEXT), RF_FAULT_CHUNK_SIZE },
	{ "all together wrap", BYTES(CHUNKS "1" END "x" END "ffffffffffffffff" END), RF_FAULT_BODY_LONG },
	{ "NUL behind the size", BYTES(CHUNKS "5\0" END "hello" END "0" END END), RF_FAULT_CHUNK_SIZE },
	{ "LF behind the size", BYTES(CHUNKS "5\nhello" END "0" END END), RF_FAULT_BARE_LF },
	{ "CR behind the size", BYTES(CHUNKS "5\rhello" END "0" END END), RF_FAULT_BARE_CR },
	{ "LF in an extension", BYTES(CHUNKS "5;\nhello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "LF in an extension's value", BYTES(CHUNKS "5;a=b\nhello" END "0" END END), RF_FAULT_BARE_LF },
	{ "CR in an extension", BYTES(CHUNKS "5;a\rhello" END "0" END END), RF_FAULT_BARE_CR },
	{ "empty extension", BYTES(CHUNKS "5;" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "space in an extension", BYTES(CHUNKS "5; a" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "extension without a value", BYTES(CHUNKS "5;a=" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "quote without end", BYTES(CHUNKS "5;a=\"" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "CR LF in a quote", BYTES(CHUNKS "5;a=\"\\" END "\"" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "text behind a quote", BYTES(CHUNKS "5;a=\"b\"c" END "hello" END "0" END END), RF_FAULT_CHUNK_EXTENSION },
	{ "data too short", BYTES(CHUNKS "6" END "hello" END "0" END END), RF_FAULT_CHUNK_END },
	{ "data too long", BYTES(CHUNKS "4" END "hello" END "0" END END), RF_FAULT_CHUNK_END },
	{ "LF behind the data", BYTES(CHUNKS "5" END "hello\n0" END END), RF_FAULT_CHUNK_END },
	{ "CR behind the data", BYTES(CHUNKS "5" END "hello\r0" END END), RF_FAULT_CHUNK_END },
	{ "any byte for the CR behind the data", BYTES(CHUNKS "5" END "helloX\n0" END END), RF_FAULT_CHUNK_END },
	{ "two bytes behind the data", BYTES(CHUNKS "5" END "helloXX0" END END), RF_FAULT_CHUNK_END },
	{ "LF behind the last", BYTES(CHUNKS "0\n\n"), RF_FAULT_BARE_LF },
	{ "LF ends the trailer", BYTES(CHUNKS "0" END "\n" NEXT), RF_FAULT_BARE_LF },
	{ "the next at once", BYTES(CHUNKS "0" END NEXT), RF_FAULT_NO_COLON },
	{ "length in the trailer", BYTES(CHUNKS "0" END "Content-Length: 5" END END), RF_FAULT_TRAILER_NAME },
	{ "coding in the trailer", BYTES(CHUNKS "0" END "Transfer-Encoding: chunked" END END), RF_FAULT_TRAILER_NAME },
	{ "host in the trailer", BYTES(CHUNKS "0" END "Host: b" END END), RF_FAULT_TRAILER_NAME },
	{ "credentials in the trailer", BYTES(CHUNKS "0" END "Authorization: x" END END), RF_FAULT_TRAILER_NAME },
	{ "fold in the trailer", BYTES(CHUNKS "0" END "A: b" END " c" END END), RF_FAULT_FOLD },
	{ "cut trailer", BYTES(CHUNKS "0" END), RF_FAULT_CUT },
	{ "cut chunk", BYTES(CHUNKS "5" END "hel"), RF_FAULT_CUT },
	{ "cut body", BYTES(POST "Content-Length: 5" END END "hel"), RF_FAULT_CUT },
};

static const struct vector responses[] = {
	{ "CL and TE", BYTES("HTTP/1.1 200 OK" END "Content-Length: 1" END "Transfer-Encoding: chunked" END END), RF_FAULT_LENGTH_AND_CODING },
	{ "two lengths", BYTES("HTTP/1.1 200 OK" END "Content-Length: 1" END "Content-Length: 1" END END), RF_FAULT_LENGTH_TWICE },
	{ "no status", BYTES("HTTP/1.1 OK" END END), RF_FAULT_START_PARTS },
	{ "status too short", BYTES("HTTP/1.1 20 OK" END END), RF_FAULT_START_PARTS },
	{ "status too long", BYTES("HTTP/1.1 2000 OK" END END), RF_FAULT_START_PARTS },
	{ "status too low", BYTES("HTTP/1.1 099 OK" END END), RF_FAULT_STATUS },
	{ "status too high", BYTES("HTTP/1.1 600 OK" END END), RF_FAULT_STATUS },
	{ "status with a sign", BYTES("HTTP/1.1 +20 OK" END END), RF_FAULT_STATUS },
	{ "two spaces", BYTES("HTTP/1.1  200 OK" END END), RF_FAULT_START_PARTS },
	{ "other version", BYTES("HTTP/2.0 200 OK" END END), RF_FAULT_VERSION },
	{ "no HTTP", BYTES("ICY 200 OK" END END), RF_FAULT_VERSION_FORM },
	{ "SSH", BYTES("SSH-2.0-OpenSSH" END END), RF_FAULT_VERSION_FORM },
	{ "coding in HTTP/1.0", BYTES("HTTP/1.0 200 OK" END "Transfer-Encoding: chunked" END END), RF_FAULT_CODING_OLD },
	{ "204 with a body", BYTES("HTTP/1.1 204 No" END "Content-Length: 5" END END "hello"), RF_FAULT_BODY_UNWANTED },
	{ "204 with chunks", BYTES("HTTP/1.1 204 No" END "Transfer-Encoding: chunked" END END), RF_FAULT_BODY_UNWANTED },
	{ "100 with a body", BYTES("HTTP/1.1 100 Go" END "Content-Length: 5" END END "hello"), RF_FAULT_BODY_UNWANTED },
	{ "101 unasked", BYTES("HTTP/1.1 101 Go" END "Connection: upgrade" END "Upgrade: x" END END), RF_FAULT_SWITCH },
	{ "cut body", BYTES("HTTP/1.1 200 OK" END "Content-Length: 5" END END "hell"), RF_FAULT_CUT },
	{ "cut chunks", BYTES("HTTP/1.1 200 OK" END "Transfer-Encoding: chunked" END END "1" END "x" END), RF_FAULT_CUT },
	{ "cut head", BYTES("HTTP/1.1 200 OK" END "Content-Le"), RF_FAULT_CUT },
	{ "fold", BYTES("HTTP/1.1 200 OK" END "A: b" END " c" END END), RF_FAULT_FOLD },
};
/* clang-format on */

static size_t cut_evenly(void *data, size_t left)
{
	size_t len = *(size_t *)data;

	return len < left ? len : left;
}

static void check(const struct vector *vector, bool is_response)
{
	static const size_t pieces[] = { 100000, 1, 2, 3, 5, 8, 13, 21, 34 };

	for (size_t i = 0; i < RF_LEN(pieces); i++) {
		size_t piece = pieces[i];
		struct transcript how = {
			.room = 64, .is_response = is_response, .cut = cut_evenly, .data = &piece
		};
		RF_AUTO_BUF struct rf_buf out;
		enum rf_fault fault;

		rf_buf_init(&out, 1 << 16);
		fault = transcript_write(&out, &how, vector->bytes, vector->len);
		RF_CHECK(fault == vector->fault, "%s, in pieces of %zu: %s\n%s", vector->what,
			 piece, rf_fault_words(fault), out.data ? out.data : "");
		RF_CHECK(!out.data || !strstr(out.data, "/smuggled"), "%s: a request came through",
			 vector->what);
	}
}

RF_TEST(a_request_that_can_be_read_in_two_ways_is_refused)
{
	for (size_t i = 0; i < RF_LEN(requests); i++)
		check(&requests[i], false);
}

RF_TEST(a_response_that_can_be_read_in_two_ways_is_refused)
{
	for (size_t i = 0; i < RF_LEN(responses); i++)
		check(&responses[i], true);
}

/* The control: the vectors are refused for what is wrong with them, and not for what they have in common. */
RF_TEST(what_is_right_about_them_passes)
{
	static const struct vector right[] = {
		{ "length", BYTES(POST "Content-Length: 5" END END "hello" NEXT), RF_FAULT_NONE },
		{ "chunks", BYTES(CHUNKS "5;a=\"b\"" END "hello" END "0" END END NEXT),
		  RF_FAULT_NONE },
		{ "URL", BYTES("GET http://a:81/ HTTP/1.1" END "Host: a:81" END END NEXT),
		  RF_FAULT_NONE },
	};

	for (size_t i = 0; i < RF_LEN(right); i++) {
		struct transcript how = { .room = 64 };
		RF_AUTO_BUF struct rf_buf out;
		enum rf_fault fault;

		rf_buf_init(&out, 1 << 16);
		fault = transcript_write(&out, &how, right[i].bytes, right[i].len);
		RF_CHECK(fault == RF_FAULT_NONE && strstr(out.data, "/smuggled"), "%s: %s",
			 right[i].what, rf_fault_words(fault));
	}
}
