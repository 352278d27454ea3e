/* A program of interference.py, which works on one CPU, and counts what it does in a window of time.

       interference KIND CPU BYTES

   Prints `ready`, and reads begin and end of the window, in seconds of CLOCK_MONOTONIC, from its input. It
   works from then on. At the end it prints the units of work in the window, and the seconds of CPU for them.
   Compile it with -DSTEPS=N: a unit of the chase is so many steps. */

#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chase.c"

enum { SIDE = 96, CHUNK = 8192, BURST = 4, REST_NANOSECONDS = 2000000 };

static double *numbers;
static size_t count, position;
static uint64_t *lines, line;
static volatile double result;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void *memory(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        fail("mmap");
    madvise(found, bytes, MADV_HUGEPAGE); /* what the TLB misses is not what is measured */
    memset(found, 0, bytes);
    return found;
}

/* Two matrices, and their product: 216 KiB, which a core's own cache has room for. */
static void make_product(size_t bytes)
{
    (void)bytes;
    numbers = memory(3 * SIDE * SIDE * sizeof *numbers);
    for (int index = 0; index < 2 * SIDE * SIDE; index++)
        numbers[index] = 1.0 / (index + 1);
}

static void product(void)
{
    const double *a = numbers, *b = numbers + SIDE * SIDE;
    double *c = numbers + 2 * SIDE * SIDE;
    for (int row = 0; row < SIDE; row++) {
        double sum[SIDE] = {0};
        for (int k = 0; k < SIDE; k++)
            for (int column = 0; column < SIDE; column++)
                sum[column] += a[row * SIDE + k] * b[k * SIDE + column];
        memcpy(c + row * SIDE, sum, sizeof sum);
    }
    result = c[0];
}

static void make_circle(size_t bytes)
{
    lines = chase_circle(bytes);
    if (lines == NULL)
        fail("chase_circle");
}

static void follow(void)
{
    line = chase(lines, line, STEPS);
}

/* The triad of McCalpin's STREAM, a part at a time. */
static void make_stream(size_t bytes)
{
    count = bytes / 3 / sizeof *numbers / CHUNK * CHUNK;
    numbers = memory(3 * count * sizeof *numbers);
}

static void stream(void)
{
    double *a = numbers + position, *b = numbers + count + position, *c = numbers + 2 * count + position;
    for (int index = 0; index < CHUNK; index++)
        a[index] = b[index] + 3.0 * c[index];
    position = (position + CHUNK) % count;
}

/* Short bursts of the product, and rests between them. */
static void sleeper(void)
{
    const struct timespec rest = {0, REST_NANOSECONDS};
    for (int repeat = 0; repeat < BURST; repeat++)
        product();
    nanosleep(&rest, NULL);
}

/* Computes in registers: it needs nothing that another core has. */
static void make_spinner(size_t bytes)
{
    (void)bytes;
}

static void spinner(void)
{
    static uint64_t state = 1;
    uint64_t next = state;
    for (int step = 0; step < STEPS; step++)
        next = next * 6364136223846793005u + 1442695040888963407u;
    state = next;
}

static const struct {
    const char *name;
    void (*make)(size_t bytes);
    void (*work)(void);
} programs[] = {
    {"product", make_product, product},
    {"chase", make_circle, follow},
    {"stream", make_stream, stream},
    {"sleeper", make_product, sleeper},
    {"spinner", make_spinner, spinner},
};

static void run(void (*work)(void))
{
    double begin, end;
    printf("ready\n");
    fflush(stdout);
    if (scanf("%lf %lf", &begin, &end) != 2)
        exit(1); /* who started it has gone */
    while (seconds(CLOCK_MONOTONIC) < begin)
        work();
    double used = -seconds(CLOCK_PROCESS_CPUTIME_ID);
    unsigned long units = 0;
    do {
        work();
        units++;
    } while (seconds(CLOCK_MONOTONIC) < end);
    used += seconds(CLOCK_PROCESS_CPUTIME_ID);
    printf("%lu %.9f\n", units, used);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: interference KIND CPU BYTES\n");
        return 2;
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[2]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        fail("sched_setaffinity");
    for (size_t index = 0; index < sizeof programs / sizeof *programs; index++)
        if (strcmp(argv[1], programs[index].name) == 0) {
            programs[index].make(strtoull(argv[3], NULL, 10));
            run(programs[index].work);
            return 0;
        }
    fprintf(stderr, "there is no program %s\n", argv[1]);
    return 2;
}
