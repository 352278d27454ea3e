/* Steps from cache line to cache line, each where the one before says: what a cache that others use, too, costs. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, WORDS = LINE / sizeof(uint64_t) };

/* Return so many bytes, each line of which has the number of the next: one circle through all of them, in random
   order (Sattolo's). NULL: there is no memory. */
uint64_t *chase_circle(size_t bytes)
{
    const size_t count = bytes / LINE;
    uint64_t *lines = mmap(NULL, count * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *order = malloc(count * sizeof *order), state = 88172645463325252u;
    if (lines == MAP_FAILED || order == NULL)
        return NULL;
    madvise(lines, count * LINE, MADV_HUGEPAGE); /* what the TLB misses is not what is measured */
    memset(lines, 0, count * LINE);
    for (size_t index = 0; index < count; index++)
        order[index] = index;
    for (size_t index = count - 1; index > 0; index--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const size_t other = state % index;
        const uint64_t kept = order[index];
        order[index] = order[other], order[other] = kept;
    }
    for (size_t index = 0; index < count; index++)
        lines[order[index] * WORDS] = order[(index + 1) % count];
    free(order);
    return lines;
}

/* Take so many steps from a line, and return the number of the last one. */
uint64_t chase(const uint64_t *lines, uint64_t line, uint64_t steps)
{
    while (steps-- > 0)
        line = lines[line * WORDS];
    return line;
}
