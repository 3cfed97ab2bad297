import SQLiteFile
import SafeText
import Terminal

/// What to do next with a damaged store. Commands that read as SQLite does stop at the damage, so the advice names
/// those that read past it.
enum RecoveryAdvice {
  /// The next steps, with what the log of the store may add to them.
  static func suggestions(for path: String, _ findings: [Finding]) -> [KeyValueBlock.Suggestion] {
    let path = ShellText.path(path)
    let log = findings.contains { $0.id == .walBrokenChain } ? "--wal all " : ""
    return [
      .init("lifeboat rows --all \(log)\(path)", "every row that is left, deleted ones too"),
      .init("lifeboat recover \(log)\(path) -o NEW.sqlite", "a fresh file with what can be saved"),
    ]
  }

  /// Says after a reading command that others read more.
  static func note(for path: String) -> String {
    "note: the store is damaged; these read past the damage and find more: "
      + "lifeboat recover \(ShellText.path(path)) -o NEW.sqlite, "
      + "lifeboat rows --all \(ShellText.path(path))"
  }
}
