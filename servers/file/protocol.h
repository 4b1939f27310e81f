/* protocol.h: what file servers and their client say to each other. Plain C, for all of them.
 *
 * Over one TCP connection the client sends requests, one after the other; each is answered before the next one is read. A message is a
 * header of FILE_HEADER bytes, all numbers little endian, and then what belongs to it:
 *
 *     request   magic 4, version 2, type 2, size 8, path length 4, zero 4; the path (no NUL at its end); the payload if it is a write
 *     response  magic 4, version 2, type 2, size 8, status 4 (signed), zero 4; the payload if it is a read
 *
 *     type         path  request's size            response's size                   payload
 *     READ         yes   bytes wanted at most      bytes read, fewer at the file's end  in the response
 *     WRITE        yes   bytes to be written       bytes written                     in the request
 *     READ_NULL    no    bytes wanted              the same                          in the response: zeros
 *     WRITE_NULL   no    bytes thrown away         the same                          in the request
 *
 * Status is 0, or a negative errno value as Linux numbers them; then size is 0 and no payload follows. After an error the connection goes
 * on, unless the server cannot know where the next request begins (bad magic, version or type; a request that is cut short or does not come
 * in time; a write beyond the server's limit) or has no room for the connection (-EMFILE, -ENFILE, -ENOMEM): then it answers, and closes.
 * The type is 0 in an answer to something that was not understood. An answer may come before the request has been sent completely.
 * A write replaces the file; one that fails leaves no file behind.
 * If a file turns out shorter than what was announced while it is being sent, the server closes the connection.
 */
#ifndef FILE_PROTOCOL_H
#define FILE_PROTOCOL_H

#include <errno.h>
#include <stdint.h>

enum { FILE_HEADER = 24, FILE_PATH_MAX = 1024, FILE_VERSION = 1, FILE_PORT = 9999 };
enum { FILE_READ = 1, FILE_WRITE, FILE_READ_NULL, FILE_WRITE_NULL };
#define FILE_REQUEST_MAGIC UINT32_C(0x51464541)  /* "AEFQ" */
#define FILE_RESPONSE_MAGIC UINT32_C(0x52464541) /* "AEFR" */

struct file_request {
    unsigned type;
    uint64_t size;
    uint32_t path_length;
};
struct file_response {
    unsigned type;
    uint64_t size;
    int status;
};

static inline void file_put(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> (8 * i));
}
static inline uint64_t file_get(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}
static inline void file_header_put(unsigned char *to, uint32_t magic, unsigned type, uint64_t size, uint32_t number) {
    file_put(to, magic, 4);
    file_put(to + 4, FILE_VERSION, 2);
    file_put(to + 6, type, 2);
    file_put(to + 8, size, 8);
    file_put(to + 16, number, 4);
    file_put(to + 20, 0, 4);
}
static inline int file_header_check(const unsigned char *from, uint32_t magic) {
    if (file_get(from, 4) != magic) return -EPROTO;
    if (file_get(from + 4, 2) != FILE_VERSION) return -EPROTONOSUPPORT;
    return file_get(from + 20, 4) == 0 ? 0 : -EPROTO;
}

static inline void file_request_put(unsigned char *to, const struct file_request *q) {
    file_header_put(to, FILE_REQUEST_MAGIC, q->type, q->size, q->path_length);
}
/* Returns 0, or a negative errno for what is not a request; then q->type is 0. */
static inline int file_request_get(struct file_request *q, const unsigned char *from) {
    int error = file_header_check(from, FILE_REQUEST_MAGIC);
    unsigned type = error ? 0 : (unsigned)file_get(from + 6, 2);
    if (!error && (type < FILE_READ || type > FILE_WRITE_NULL)) error = -EOPNOTSUPP;
    *q = (struct file_request){.type = error ? 0 : type, .size = file_get(from + 8, 8), .path_length = (uint32_t)file_get(from + 16, 4)};
    return error;
}
static inline void file_response_put(unsigned char *to, const struct file_response *a) {
    file_header_put(to, FILE_RESPONSE_MAGIC, a->type, a->size, (uint32_t)a->status);
}
/* Returns 0, or a negative errno for what is not a response. */
static inline int file_response_get(struct file_response *a, const unsigned char *from) {
    int error = file_header_check(from, FILE_RESPONSE_MAGIC);
    *a = (struct file_response){
        .type = (unsigned)file_get(from + 6, 2), .size = file_get(from + 8, 8), .status = (int)(int32_t)(uint32_t)file_get(from + 16, 4)};
    return error;
}

#endif
