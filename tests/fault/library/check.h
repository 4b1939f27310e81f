/* check.h: what the tests of the library share. A test is an aesop function; it ends with the first expectation that is not met. */
#ifndef CHECK_H
#define CHECK_H

#include <aesop.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct test {
    const char *name;
    aesop void (*run)(void);
};
extern const struct test socket_tests[], cancel_tests[], file_tests[], other_tests[]; /* until a null name */

extern char failure[512]; /* of the test that runs; empty if there is none */
void fail_at(const char *file, int line, const char *what, long long found, long long expected);
long long now_ms(void);

/* Notes the first failure, and goes on: what was opened has to be closed. */
#define EXPECT(found_, expected_)                                                \
    do {                                                                         \
        long long f_ = (long long)(found_), e_ = (long long)(expected_);         \
        if (f_ != e_ && !*failure) fail_at(__FILE__, __LINE__, #found_, f_, e_); \
    } while (0)
#define TRUE(x_) EXPECT(!!(x_), 1)

#endif
