/* file-client's options, its barriers, and its report. The clients themselves are in client.c. */
#define _GNU_SOURCE
#include "client.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: mpirun -np N file-client --ip IP --port PORT --type-r|--type-w|--type-rn|--type-wn [options]\n"
    "Drives a file server with N processes and prints how long it took.\n"
    "  --ip IP                  the server's address, in numbers (default 127.0.0.1)\n"
    "  --port PORT              its port (default 9999)\n"
    "  --type-r                 read files that --type-w has written with the same path, clients and size\n"
    "  --type-w                 write files, a new one in each request\n"
    "  --type-rn                read-null: the server sends data that come from no file\n"
    "  --type-wn                write-null: the server throws the data away\n"
    "  --path PATH              the files are called PATH.CLIENT.REQUEST, or PATHCLIENT.REQUEST if PATH ends in / (default data)\n"
    "  --num-requests N         requests of each client (default 16)\n"
    "  --size BYTES             bytes in each request (default 4096)\n"
    "  --clients-per-process N  connections that each process plays (default 1)\n"
    "  --verify                 check every byte that is read; after --type-w, read every file back\n"
    "  --timeout SECONDS        give a client up after so long without an answer (default 60)\n"
    "  --json                   print one line of JSON instead of the report; times in seconds\n"
    "  --help\n"
    "Exit status: 0; 1 if a client met an error, or data differ; 2 for wrong options.\n";

/* --- options --- */

static int number(const char *text, unsigned long long low, unsigned long long high, unsigned long long *to) {
    char *end;
    errno = 0;
    *to = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *to >= low && *to <= high;
}
/* Returns 0; 1 when the program is to end with status 0; 2 for wrong options. Rank 0 speaks. */
static int parse(int argc, char **argv, struct options *o, int rank) {
    enum { IP, PORT, PATH, REQUESTS, SIZE, CLIENTS, VERIFY, TIMEOUT, JSON, HELP, TYPE };
    static const struct option known[] = {{"ip", 1, 0, IP},
                                          {"port", 1, 0, PORT},
                                          {"path", 1, 0, PATH},
                                          {"num-requests", 1, 0, REQUESTS},
                                          {"size", 1, 0, SIZE},
                                          {"clients-per-process", 1, 0, CLIENTS},
                                          {"verify", 0, 0, VERIFY},
                                          {"timeout", 1, 0, TIMEOUT},
                                          {"json", 0, 0, JSON},
                                          {"help", 0, 0, HELP},
                                          {"type-r", 0, 0, TYPE + FILE_READ},
                                          {"type-w", 0, 0, TYPE + FILE_WRITE},
                                          {"type-rn", 0, 0, TYPE + FILE_READ_NULL},
                                          {"type-wn", 0, 0, TYPE + FILE_WRITE_NULL},
                                          {0}};
    unsigned char address[16];
    unsigned long long n = 0;
    int c, good = 1;
    *o = (struct options){.ip = "127.0.0.1", .path = "data", .port = FILE_PORT, .requests = 16, .size = 4096, .clients = 1, .timeout = 60};
    opterr = rank == 0;
    while (good && (c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (c) {
        case IP: o->ip = optarg; break;
        case PORT: good = number(optarg, 1, 65535, &n), o->port = (int)n; break;
        case PATH: o->path = optarg, good = *optarg != 0; break;
        case REQUESTS: good = number(optarg, 1, INT_MAX, &n), o->requests = (int)n; break;
        case SIZE: good = number(optarg, 0, SSIZE_MAX / 2, &n), o->size = (size_t)n; break;
        case CLIENTS: good = number(optarg, 1, 100000, &n), o->clients = (int)n; break;
        case TIMEOUT: good = number(optarg, 1, 1000000, &n), o->timeout = (int)n; break;
        case VERIFY: o->verify = 1; break;
        case JSON: o->json = 1; break;
        case HELP:
            if (rank == 0) fputs(help, stdout);
            return 1;
        case '?': good = 0; break;
        default: o->type = (unsigned)(c - TYPE); break;
        }
        if (!good && c != '?' && rank == 0) fprintf(stderr, "file-client: --%s cannot be %s\n", known[c].name, optarg);
    }
    const char *why = NULL;
    if (good && optind < argc)
        why = "there are only options";
    else if (good && !o->type)
        why = "one of --type-r, --type-w, --type-rn, --type-wn is missing";
    else if (good && inet_pton(AF_INET, o->ip, address) != 1 && inet_pton(AF_INET6, o->ip, address) != 1)
        why = "--ip: an address in numbers, please";
    if (why && rank == 0) fprintf(stderr, "file-client: %s\n", why);
    if (good && !why) return 0;
    if (rank == 0) fputs("Try file-client --help.\n", stderr);
    return 2;
}

/* --- report --- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Of sorted values; between two of them by their distance. */
static double quantile(const double *v, size_t n, double q) {
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}
struct run {
    int processes, clients;
    double slowest, fastest; /* client, s */
};
static void report(const struct options *o, const struct run *r, double *latencies, size_t n) {
    static const char *const names[] = {
        [FILE_READ] = "read", [FILE_WRITE] = "write", [FILE_READ_NULL] = "read-null", [FILE_WRITE_NULL] = "write-null"};
    double min, q1, median, q3, max, rate = (double)n / r->slowest;
    qsort(latencies, n, sizeof *latencies, ascending);
    min = latencies[0], q1 = quantile(latencies, n, 0.25), median = quantile(latencies, n, 0.5), q3 = quantile(latencies, n, 0.75),
    max = latencies[n - 1];
    if (o->json) {
        printf(
            "{\"type\": \"%s\", \"processes\": %d, \"clients\": %d, \"requests\": %d, \"size\": %zu, \"verified\": %s, \"seconds\": %.9f, "
            "\"fastest_client_seconds\": %.9f, \"ops_per_second\": %.3f, \"bytes_per_second\": %.1f, "
            "\"latency\": {\"min\": %.9f, \"q1\": %.9f, \"median\": %.9f, \"q3\": %.9f, \"max\": %.9f}}\n",
            names[o->type], r->processes, r->clients, o->requests, o->size, o->verify ? "true" : "false", r->slowest, r->fastest, rate,
            rate * (double)o->size, min, q1, median, q3, max);
        return;
    }
    printf("%s: %d clients in %d processes, %d requests each, %zu bytes%s\n", names[o->type], r->clients, r->processes, o->requests,
           o->size, o->verify ? ", verified" : "");
    printf("time       %.6f s (slowest client; fastest %.6f s)\n", r->slowest, r->fastest);
    printf("rate       %.1f operations/s, %.3f MB/s\n", rate, rate * (double)o->size * 1e-6);
    printf("latency    min %.1f us, quartiles %.1f %.1f %.1f us, max %.1f us\n", min * 1e6, q1 * 1e6, median * 1e6, q3 * 1e6, max * 1e6);
}

/* How many clients of this process have failed; each says why. */
static int failures(const struct process *p) {
    int count = 0;
    for (int i = 0; i < p->options->clients; i++) {
        const struct client *c = &p->clients[i];
        if (c->state != FAILED) continue;
        if (count++ < 5) fprintf(stderr, "file-client: %s\n", c->error);
    }
    if (count > 5) fprintf(stderr, "file-client: ... and %d more clients of this process\n", count - 5);
    return count;
}
static int all(int here, MPI_Op op) {
    int there = 0;
    MPI_Allreduce(&here, &there, 1, MPI_INT, op, MPI_COMM_WORLD);
    return there;
}

static int measure(const struct options *o, int rank, int processes) {
    struct process p = {0};
    struct run r = {.processes = processes, .clients = processes * o->clients};
    double slowest = 0, fastest = HUGE_VAL, *everything = NULL;
    size_t mine = (size_t)o->clients * (size_t)o->requests, total = mine * (size_t)processes;
    int failed = process_open(&p, o, rank) < 0;
    if (rank == 0 && !failed && total <= INT_MAX) failed = !(everything = malloc(total * sizeof *everything));
    if (all(failed, MPI_SUM) || total > INT_MAX) {
        if (rank == 0) fprintf(stderr, "file-client: %s\n", total > INT_MAX ? "more than 2^31 requests" : "not enough memory");
        failed = 1;
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        process_run(&p);
        MPI_Barrier(MPI_COMM_WORLD);
        process_check(&p);
        for (int i = 0; i < o->clients; i++) {
            double spent = p.clients[i].ended - p.clients[i].started;
            if (spent > slowest) slowest = spent;
            if (spent < fastest) fastest = spent;
        }
        failed = all(failures(&p), MPI_SUM);
        MPI_Reduce(&slowest, &r.slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&fastest, &r.fastest, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
        MPI_Gather(p.latencies, (int)mine, MPI_DOUBLE, everything, (int)mine, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0 && failed) fprintf(stderr, "file-client: %d of %d clients failed\n", failed, r.clients);
        if (everything && !failed) report(o, &r, everything, total);
    }
    free(everything);
    process_close(&p);
    return failed != 0;
}

int main(int argc, char **argv) {
    struct options o;
    int rank, processes, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    signal(SIGPIPE, SIG_IGN);
    status = parse(argc, argv, &o, rank);
    status = status == 0 ? measure(&o, rank, processes) : status == 1 ? 0 : 2;
    MPI_Finalize();
    return status;
}
