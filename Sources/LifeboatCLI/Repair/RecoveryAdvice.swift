import SQLiteFile
import Quoting
import Terminal

/// Advice on what to do next with a damaged store. Commands that read as SQLite does stop at the damage, so the advice
/// names commands that read past the damage.
enum RecoveryAdvice {
  /// The commands to run next. They get `--wal all` if the log has frames after an invalid one.
  static func suggestions(for path: String, _ findings: [Finding]) -> [KeyValueBlock.Suggestion] {
    let path = ShellText.path(path)
    let log = log(findings)
    return [
      .init("lifeboat rows --all \(log)\(path)", "every row that is left, deleted ones too"),
      .init("lifeboat recover \(log)\(path) -o NEW.sqlite", "a fresh file with what can be saved"),
    ]
  }

  /// The note after a reading command, which says that `recover` and `rows --all` read more of a damaged store.
  static func note(for path: String, _ findings: [Finding]) -> String {
    let log = log(findings)
    return "note: the store is damaged; these commands read past the damage: "
      + "lifeboat recover \(log)\(ShellText.path(path)) -o NEW.sqlite, "
      + "lifeboat rows --all \(log)\(ShellText.path(path))"
  }

  /// The option `--wal all` with a space behind it, if the log has a broken frame; else empty. Without this option, the
  /// commits behind the broken frame are left out, and with them the newest rows.
  static func log(_ findings: [Finding]) -> String {
    findings.contains { $0.id == .walBrokenChain } ? "--wal all " : ""
  }
}
