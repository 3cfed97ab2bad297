#include <sqlite3.h>

// Swift cannot call functions with variable arguments. The log stays when the last connection closes, so that
// the next launch finds it again.
static inline int keep_log_on_close(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
