import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Terminal

/// Advice on what to do next with a damaged store. A command that reads only what SQLite can read stops at the damage.
/// The advice names commands that also read what is behind the damage.
enum RecoveryAdvice {
  /// The commands that the user should run next. The commands include `--wal all` if the log has commits after an
  /// invalid frame. `store` is the argument that names the store, with the options that open the store. `repair` is the
  /// command that makes a sound file of the store.
  static func suggestions(
    for store: String, _ findings: [Finding], _ repair: RepairCommand
  ) -> [KeyValueBlock.Suggestion] {
    let log = log(findings)
    guard !RepairCommand.lacksOnlyFiles(findings) else {
      return [
        .init(
          "lifeboat extract \(log)\(store) -o DIR",
          "save every row; the missing external files can only come from a backup")
      ]
    }
    return [
      .init("lifeboat rows --all \(log)\(store)", "show every row that is left, deleted rows too"),
      .init(repair.text(store, options: log), repair.purpose),
    ]
  }

  /// A note for the user of a command that has read a damaged store. It names `repair`, the command that makes
  /// a sound file of the store, and `rows --all`. `store` is the argument that names the store, with the options that
  /// open the store.
  static func note(
    for store: String, _ findings: [Finding], _ repair: RepairCommand
  ) -> String {
    let log = log(findings)
    guard !RepairCommand.lacksOnlyFiles(findings) else {
      return "note: external files of the store are missing; they can only come from a backup"
    }
    return "note: the store is damaged; these commands read past the damage: "
      + "\(repair.text(store, options: log)), lifeboat rows --all \(log)\(store)"
  }

  /// Returns the option `--wal all` and a space if the log has a broken frame, otherwise an empty string. Without the
  /// option, a command does not read the commits after the broken frame, which contain the newest rows.
  static func log(_ findings: [Finding]) -> String {
    findings.contains { $0.id == .walBrokenChain } ? "--wal all " : ""
  }
}

extension DisplayOptions {
  /// Prints a note on standard error if nothing in a store is damaged but the freelist, so that the exit status is 0.
  /// `damageCount` is the number of findings of damage that the command made. `store` is the argument that names the
  /// store, with the options that open the store.
  func noteFreelist(
    of database: SQLiteDatabase?, unless damageCount: Int, for store: String
  ) throws {
    guard damageCount == 0, let database else { return }
    let ids = Set(try database.freelistFindings().kept.map(\.id.rawValue))
    guard !ids.isEmpty else { return }
    note(
      "note: the freelist, which lists free pages, is damaged (\(ids.sorted().joined(separator: ", "))); "
        + "rows do not depend on it; to see all damage, run: lifeboat check \(store)")
  }
}
