/* Prints the result of three statx(2) calls of a path, made through io_uring: 0 or a negative errno. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING(base, offset) ((unsigned *)((base) + (offset)))

int main(int argc, char **argv) {
    struct io_uring_params p;
    memset(&p, 0, sizeof p);
    int fd = syscall(SYS_io_uring_setup, 4, &p);
    if (fd < 0 || argc != 2) {
        puts("no io_uring");
        return 0;
    }
    int rights = PROT_READ | PROT_WRITE, how = MAP_SHARED | MAP_POPULATE;
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * sizeof(unsigned), rights, how, fd, IORING_OFF_SQ_RING);
    char *cq = mmap(0, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), rights, how, fd, IORING_OFF_CQ_RING);
    struct io_uring_sqe *calls = mmap(0, p.sq_entries * sizeof *calls, rights, how, fd, IORING_OFF_SQES);
    for (int i = 0; i < 3; i++) {
        struct statx found;
        unsigned tail = *RING(sq, p.sq_off.tail), at = tail & *RING(sq, p.sq_off.ring_mask);
        memset(&calls[at], 0, sizeof calls[at]);
        calls[at].opcode = IORING_OP_STATX;
        calls[at].fd = AT_FDCWD;
        calls[at].addr = (unsigned long)argv[1];
        calls[at].len = STATX_BASIC_STATS | STATX_BTIME;
        calls[at].off = (unsigned long)&found;
        RING(sq, p.sq_off.array)[at] = at;
        __atomic_store_n(RING(sq, p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
            return 2;
        unsigned head = *RING(cq, p.cq_off.head);
        struct io_uring_cqe *done = (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (head & *RING(cq, p.cq_off.ring_mask));
        printf("%d\n", done->res);
        __atomic_store_n(RING(cq, p.cq_off.head), head + 1, __ATOMIC_RELEASE);
    }
    return 0;
}
