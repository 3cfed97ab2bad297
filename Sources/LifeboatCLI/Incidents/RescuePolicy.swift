import ArgumentParser
import SafeText
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
    switch argument {
    case "report": self = .report
    case "no-trial": self = .noTrial
    default:
      guard let size = PathText.dropping(prefix: "min-free=", from: argument),
        let bytes = ByteCount(argument: size)
      else { return nil }
      self = .minimumFree(bytes.count)
    }
  }

  static var allValueStrings: [String] { ["report", "no-trial", "min-free=SIZE"] }
}
