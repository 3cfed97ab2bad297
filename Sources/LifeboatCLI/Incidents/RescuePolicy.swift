import ArgumentParser
import StoreRecovery

/// The value of an option `--policy` of `lifeboat rescue`.
enum RescuePolicy: ExpressibleByArgument, Equatable {
  /// `report`: nothing is moved, made or written.
  case report
  /// `min-free=SIZE`: the store is moved only if at least this number of bytes is free.
  case minimumFree(Int64)
  /// `no-trial`: before the move, no throw-away store is made in the store's folder.
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
