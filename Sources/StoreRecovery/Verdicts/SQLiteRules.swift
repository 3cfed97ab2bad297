import SafeText

/// The rule for each of SQLite's result codes (https://www.sqlite.org/rescode.html). The extended code decides, because
/// one primary code covers causes that need different actions.
package enum SQLiteRules {
  /// Returns the rule for an extended result code; nil for 0, 100 and 101, which are not errors. An unknown extended
  /// code gets the rule of its primary code, but only if that rule never moves a store. If it may move a store, the
  /// action for the unknown code is a refusal.
  package static func rule(for code: Int32) -> CodeRule? {
    let number = Int(code)
    // 0, 100 and 101 are not errors.
    guard number > 0, number != 100, number != 101 else { return nil }
    if let row = byCode[number] { return row }
    if let primary = byCode[number & 0xff], primary.isFinal {
      return CodeRule(
        number, primary.treatment, primary.finding,
        "SQLite reported \(number), an extended code of \(number & 0xff): \(primary.reason)")
    }
    return CodeRule(
      number, .fixed(.refuse), .unavailable,
      "SQLite reported \(number), which has no known meaning"
    )
  }

  private static let byCode = Dictionary(firstOf: rows.map { ($0.code, $0) })

  package static let rows: [CodeRule] =
    general + availability + inputOutput + integrity + usage

  private static let general: [CodeRule] = [
    CodeRule(
      1, .statement, .hostError, "SQLite refused a statement, often a fault in the app's code"),
    CodeRule(257, .fixed(.refuse), .hostError, "this SQLite lacks a needed collating sequence"),
    CodeRule(513, .fixed(.retry), .unavailable, "SQLite asked the app to repeat the statement"),
    CodeRule(769, .fixed(.retry), .unavailable, "the requested snapshot is no longer available"),
    CodeRule(2, .damage, .corrupt, "SQLite found its own state inconsistent"),
    CodeRule(3, .fixed(.refuse), .unavailable, "ownership or the sandbox forbids access"),
    CodeRule(4, .fixed(.retry), .unavailable, "the operation was cancelled"),
    CodeRule(516, .fixed(.retry), .unavailable, "another statement rolled the transaction back"),
  ]

  private static let availability: [CodeRule] = [
    CodeRule(5, .fixed(.retry), .unavailable, "another process holds the store's lock"),
    CodeRule(261, .fixed(.retry), .unavailable, "another process is recovering the store's log"),
    CodeRule(517, .fixed(.retry), .unavailable, "another connection wrote to the store meanwhile"),
    CodeRule(773, .fixed(.retry), .unavailable, "waiting for another process's lock took too long"),
    CodeRule(6, .fixed(.retry), .unavailable, "this process holds a lock on the table"),
    CodeRule(
      262, .fixed(.retry), .unavailable, "another connection of this process holds the lock"),
    CodeRule(518, .fixed(.retry), .unavailable, "a virtual table is locked"),
    CodeRule(7, .fixed(.retry), .unavailable, "memory ran out"),
    CodeRule(3082, .fixed(.retry), .unavailable, "memory ran out during a read or write"),
    CodeRule(8, .fixed(.refuse), .unavailable, "permissions or the volume forbid writing"),
    CodeRule(
      264, .fixed(.retry), .unavailable, "recovering the log needs the store opened for writing"),
    CodeRule(520, .fixed(.retry), .unavailable, "the wal-index (-shm) cannot be locked"),
    CodeRule(1288, .fixed(.retry), .unavailable, "the wal-index (-shm) cannot be made"),
    CodeRule(
      776, .fixed(.retry), .unavailable,
      "a journal must be rolled back; for this, the store must be opened for writing"),
    CodeRule(1032, .fixed(.retry), .unavailable, "the file was moved while it was open"),
    CodeRule(1544, .fixed(.refuse), .unavailable, "no journal can be made in the store's folder"),
    CodeRule(9, .fixed(.retry), .unavailable, "the app interrupted the operation"),
  ]

  private static let inputOutput: [CodeRule] = [
    CodeRule(10, .fixed(.wait), .unavailable, "the device failed, which is not evidence of damage"),
    CodeRule(266, .fixed(.retry), .unavailable, "the device could not be read"),
    CodeRule(522, .shortRead, .unavailable, "a read returned too few bytes"),
    CodeRule(778, .fixed(.wait), .unavailable, "the device could not be written"),
    CodeRule(1034, .fixed(.wait), .unavailable, "the device could not flush the file"),
    CodeRule(1290, .fixed(.wait), .unavailable, "the device could not flush the folder"),
    CodeRule(1546, .fixed(.wait), .unavailable, "the file could not be truncated"),
    CodeRule(1802, .fixed(.retry), .unavailable, "the file's status could not be read"),
    CodeRule(2058, .fixed(.retry), .unavailable, "releasing a lock failed"),
    CodeRule(2314, .fixed(.retry), .unavailable, "taking a read lock failed"),
    CodeRule(2570, .fixed(.refuse), .unavailable, "a file could not be removed"),
    CodeRule(2826, .fixed(.retry), .unavailable, "the operation was blocked"),
    CodeRule(3338, .fixed(.wait), .unavailable, "permissions or data protection forbid access"),
    CodeRule(3594, .fixed(.retry), .unavailable, "checking for a lock failed"),
    CodeRule(3850, .fixed(.retry), .unavailable, "taking a lock failed"),
    CodeRule(4106, .fixed(.retry), .unavailable, "closing a file failed"),
    CodeRule(4362, .fixed(.retry), .unavailable, "closing a folder failed"),
    CodeRule(4618, .fixed(.wait), .unavailable, "the wal-index (-shm) could not be opened"),
    CodeRule(
      4874, .fixed(.wait), .unavailable, "the wal-index could not grow; the disk may be full"),
    CodeRule(5130, .fixed(.wait), .unavailable, "the wal-index (-shm) could not be locked"),
    CodeRule(5386, .fixed(.wait), .unavailable, "the wal-index (-shm) could not be mapped"),
    CodeRule(5642, .fixed(.retry), .unavailable, "seeking in a file failed"),
    CodeRule(5898, .fixed(.refuse), .unavailable, "a file to be removed does not exist"),
    CodeRule(6154, .fixed(.retry), .unavailable, "the file could not be mapped into memory"),
    CodeRule(6410, .fixed(.refuse), .unavailable, "no folder for temporary files was found"),
    CodeRule(6666, .fixed(.refuse), .unavailable, "a path could not be converted for the system"),
    CodeRule(6922, .fixed(.retry), .unavailable, "the file was moved while it was open"),
    CodeRule(7178, .fixed(.wait), .unavailable, "data protection forbids access"),
    CodeRule(7434, .fixed(.retry), .unavailable, "an atomic write could not begin"),
    CodeRule(7690, .fixed(.retry), .unavailable, "an atomic write could not be committed"),
    CodeRule(7946, .fixed(.retry), .unavailable, "an atomic write could not be rolled back"),
    // A checksum mismatch belongs to the I/O family, which never sets a store aside.
    CodeRule(8202, .fixed(.retry), .unavailable, "a page's checksum is wrong"),
    CodeRule(
      8458, .fixed(.refuse), .unavailable,
      "the volume is damaged; nothing more should be written to it"),
    CodeRule(8714, .fixed(.retry), .unavailable, "a page mapped into memory could not be read"),
  ]

  private static let integrity: [CodeRule] = [
    CodeRule(11, .damage, .corrupt, "SQLite found the file damaged"),
    CodeRule(
      267, .repairable, .corrupt,
      "a virtual table's data is damaged; it is derived from other data and can be rebuilt"),
    CodeRule(
      523, .repairable, .corrupt, "the sqlite_sequence table is damaged; it can be repaired"),
    CodeRule(
      779, .repairable, .corrupt,
      "an index is damaged; the table is intact and the index can be rebuilt"),
    CodeRule(12, .fixed(.retry), .unavailable, "SQLite did not find a requested name or operation"),
    CodeRule(13, .fixed(.wait), .unavailable, "the disk is full"),
    CodeRule(14, .cannotOpen, .unavailable, "the file cannot be opened"),
    CodeRule(270, .fixed(.refuse), .unavailable, "there is no folder for temporary files"),
    CodeRule(526, .fixed(.refuse), .unavailable, "the path names a folder"),
    CodeRule(782, .fixed(.refuse), .unavailable, "the full path of the file cannot be determined"),
    CodeRule(1038, .fixed(.refuse), .unavailable, "the path cannot be converted for the system"),
    CodeRule(1294, .fixed(.refuse), .unavailable, "the log must be checkpointed first"),
    CodeRule(1550, .fixed(.refuse), .unavailable, "the path is a symbolic link"),
    CodeRule(15, .fixed(.retry), .unavailable, "the locking protocol failed"),
    CodeRule(16, .damage, .corrupt, "SQLite found the file empty"),
    CodeRule(17, .fixed(.retry), .unavailable, "the schema changed in the meantime"),
    CodeRule(24, .damage, .corrupt, "SQLite found the format wrong"),
    CodeRule(26, .notADatabase, .corrupt, "SQLite found no database in the file"),
  ]

  private static let usage: [CodeRule] = [
    CodeRule(18, .fixed(.refuse), .hostError, "a value is too large: a fault in the app's code"),
    CodeRule(19, .fixed(.refuse), .hostError, "a constraint failed: a fault in the app's code"),
    CodeRule(
      20, .fixed(.refuse), .hostError, "a value has the wrong type: a fault in the app's code"),
    CodeRule(
      21, .fixed(.retry), .hostError,
      "the app misused SQLite; try once more with a new connection"),
    CodeRule(22, .fixed(.refuse), .unavailable, "this system does not support files that large"),
    CodeRule(
      23, .fixed(.wait), .unavailable, "access was denied; on Apple systems the device is locked"),
    CodeRule(
      25, .fixed(.refuse), .hostError, "a parameter is out of range: a fault in the app's code"),
    CodeRule(27, .fixed(.retry), .unavailable, "SQLite gave a notice, which is not a failure"),
    CodeRule(28, .fixed(.retry), .unavailable, "SQLite gave a warning, which is not a failure"),
  ]
}
