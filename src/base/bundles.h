/*
 * Where distributions keep the certificates that they trust, as one file in PEM; the first that is there counts.
 */
#ifndef RF_BASE_BUNDLES_H
#define RF_BASE_BUNDLES_H

/* clang-format off */
#define RF_BUNDLES                                                                                 \
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Gentoo, Alpine */                   \
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */                                         \
	"/etc/ssl/ca-bundle.pem",             /* SUSE */                                           \
	"/etc/ssl/cert.pem"                   /* Alpine */
/* clang-format on */

#endif
