import ArgumentParser
import StoreRecovery

/// The value of an option `--policy` of `lifeboat rescue`.
enum RescuePolicy: ExpressibleByArgument, Equatable {
  /// `report`: nothing is moved, made or written.
  case report
  /// `min-free=SIZE`: how many bytes must be free before a store is moved.
  case minimumFree(Int64)
  /// `no-trial`: no throw-away store is made in the store's folder before the store is moved.
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
