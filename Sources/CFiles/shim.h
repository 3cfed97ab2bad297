// Calls of Linux that Swift does not import from every C library: extended attributes, a rename that refuses to
// overwrite, and how memory is given back.
#if defined(__linux__)
#include <errno.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static inline int lifeboat_rename_exclusively(
    int source, const char *from, int target, const char *to) {
#ifdef SYS_renameat2
  const unsigned int noreplace = 1;
  return (int)syscall(SYS_renameat2, source, from, target, to, noreplace);
#else
  errno = ENOSYS;
  return -1;
#endif
}

// Memory of 128 KiB and more goes back to the system when it is freed. Without a word from us, glibc keeps such memory for
// the heap as soon as some was freed (mallopt(3), M_MMAP_THRESHOLD). musl never does.
static inline void lifeboat_give_back_memory(void) {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}
#endif
