import ArgumentParser
import StoreRecovery

/// One `--policy` of `lifeboat rescue`.
enum RescuePolicy: ExpressibleByArgument, Equatable {
  /// Nothing is moved, made or written.
  case report
  /// How many bytes must be free before a store is moved.
  case minimumFree(Int64)
  /// No throw-away store is made beside the store before it is moved.
  case noTrial

  init?(argument: String) {
    let parts = argument.utf8.split(
      separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
    ).map(Substring.init)
    switch (parts.first, parts.dropFirst().first) {
    case ("report", nil): self = .report
    case ("no-trial", nil): self = .noTrial
    case ("min-free", let size?):
      guard let bytes = ByteCount(argument: String(size)) else { return nil }
      self = .minimumFree(bytes.count)
    default: return nil
    }
  }

  static var allValueStrings: [String] { ["report", "no-trial", "min-free=SIZE"] }
}
