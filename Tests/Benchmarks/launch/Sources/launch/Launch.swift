import Foundation
import ObjectModel
import StoreRecovery
import SystemSQLite

/// Times a launch through `Recovery.openSynchronously` against the same launch without it: open, prepare,
/// first read, close. Both run in turn in one process.
@main struct Launch {
  static func main() throws {
    let arguments = CommandLine.arguments
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("launch-" + UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    switch arguments.dropFirst().first {
    case "only":
      // For a profile: one side alone, so that two runs can be held against each other.
      guard arguments.count == 5, let rounds = Int(arguments[4]) else { throw Usage() }
      try only(arguments[2], arguments[3], rounds, folder)
    case let rounds:
      try compare(rounds: rounds.flatMap { Int($0) } ?? 3000, folder)
    }
  }

  struct Usage: Error {}

  /// Ten entities, as a small app has.
  static let model = ExpectedModel(
    name: "Model 2",
    hashes: Dictionary(
      uniqueKeysWithValues: (1...10).compactMap { number in
        VersionHash(bytes: [UInt8](repeating: UInt8(number), count: 32)).map {
          ("Entity\(number)", $0)
        }
      }))

  static func guarded(_ store: BenchedStore, _ model: ExpectedModel?) throws {
    let recovery = Recovery(store.url, app: .init(name: "Done", version: "2.1"))
    let opened = try recovery.openSynchronously(expecting: model) { _ in try store.launch() }
    guard opened.incident == nil else { throw Usage() }
    sqlite3_close_v2(opened.handle)
  }

  static func bare(_ store: BenchedStore) throws {
    sqlite3_close_v2(try store.launch())
  }

  static func compare(rounds: Int, _ folder: URL) throws {
    print(
      "SQLite \(String(cString: sqlite3_libversion())), \(rounds) launches each way, medians in microseconds\n"
    )
    print("store               incidents  model   bare    guarded  ratio   more")
    for kind in StoreKind.allCases {
      for incidents in [0, 3] {
        let place = folder.appendingPathComponent("\(kind)-\(incidents)")
        let store = try BenchedStore(kind, in: place, incidents: incidents)
        for model in [nil, model] {
          try report(kind.rawValue, store, incidents, model, rounds)
        }
      }
    }
    let crowded = try BenchedStore(
      .journal, in: folder.appendingPathComponent("crowded"), incidents: 0, blobs: 1000)
    try report("  with 1,000 blobs", crowded, 0, nil, rounds)
  }

  static func report(
    _ name: String, _ store: BenchedStore, _ incidents: Int, _ model: ExpectedModel?, _ rounds: Int
  ) throws {
    let (bare, guarded) = try medians(store, model, rounds)
    print(
      pad(name, 20) + pad("\(incidents)", 11) + pad(model == nil ? "no" : "yes", 8)
        + pad(text(bare), 8) + pad(text(guarded), 9) + pad(text(guarded / bare, 2), 8)
        + text(guarded - bare))
  }

  static func medians(
    _ store: BenchedStore, _ model: ExpectedModel?, _ rounds: Int
  ) throws -> (bare: Double, guarded: Double) {
    var bare: [Double] = []
    var guarded: [Double] = []
    for round in -200..<rounds {
      // In turn, and each first as often as the other.
      let firstIsBare = round % 2 == 0
      if firstIsBare { bare.append(try time { try self.bare(store) }) }
      guarded.append(try time { try self.guarded(store, model) })
      if !firstIsBare { bare.append(try time { try self.bare(store) }) }
      if round < 0 { bare.removeLast(); guarded.removeLast() }
    }
    return (bare.sorted()[rounds / 2], guarded.sorted()[rounds / 2])
  }

  static func time(_ work: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let duration = try clock.measure(work)
    let (seconds, attoseconds) = duration.components
    return Double(seconds) * 1e6 + Double(attoseconds) * 1e-12
  }

  static func only(_ side: String, _ kind: String, _ rounds: Int, _ folder: URL) throws {
    guard let kind = StoreKind.allCases.first(where: { "\($0)" == kind }) else { throw Usage() }
    let store = try BenchedStore(kind, in: folder, incidents: 3)
    for _ in 0..<rounds {
      if side == "bare" { try bare(store) } else { try guarded(store, model) }
    }
  }

  static func text(_ number: Double, _ digits: Int = 1) -> String {
    String(format: "%.\(digits)f", number)
  }

  static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
