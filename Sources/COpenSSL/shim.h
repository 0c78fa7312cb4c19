#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros, and functions with variable arguments, which Swift can't import.
static inline EVP_PKEY *oc_new_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *oc_new_rsa_key(unsigned int bits) { return EVP_RSA_gen(bits); }
// The context owns the certificate afterwards.
static inline long oc_add_chain(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add_extra_chain_cert(context, certificate);
}
typedef int (*oc_status_callback)(SSL *ssl, void *context);
static inline void oc_set_status(SSL_CTX *context, oc_status_callback callback, void *argument) {
    SSL_CTX_set_tlsext_status_cb(context, callback);
    SSL_CTX_set_tlsext_status_arg(context, argument);
}
// `response` is given away; OPENSSL_malloc made it.
static inline long oc_set_status_response(SSL *ssl, unsigned char *response, int count) {
    return SSL_set_tlsext_status_ocsp_resp(ssl, response, count);
}
static inline void oc_forget_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}
static inline void *oc_duplicate(const void *bytes, size_t count) { return OPENSSL_memdup(bytes, count); }
static inline void oc_free(void *bytes) { OPENSSL_free(bytes); }
static inline int oc_set_versions(SSL_CTX *context, int min_version, int max_version) {
    return SSL_CTX_set_min_proto_version(context, min_version) == 1 && SSL_CTX_set_max_proto_version(context, max_version) == 1;
}
static inline void oc_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}
static const int oc_tls1 = TLS1_VERSION, oc_tls1_1 = TLS1_1_VERSION, oc_tls1_2 = TLS1_2_VERSION, oc_tls1_3 = TLS1_3_VERSION;
static inline long oc_memory(BIO *memory, char **bytes) { return BIO_get_mem_data(memory, bytes); }
