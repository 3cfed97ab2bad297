import Foundation
import Testing

@testable import SupportBundle

/// A folder of its own for one test, removed with the object.
final class Workspace {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "lifeboat-bundle-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  func path(_ name: String) -> String { folder.appending(path: name).path }

  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    let path = path(name)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }
}

/// Another program, to judge our archives by or to make some for us.
struct Tool {
  let path: String

  /// nil, and a word about it, where the program is not installed.
  init?(_ name: String) {
    let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    let found = folders.map { "\($0)/\(name)" }.first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
    guard let found else {
      print("skipped: there is no \(name) on this machine")
      return nil
    }
    path = found
  }

  @discardableResult
  func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }
}

/// SplitMix64, so that a failure can be repeated from its seed.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}

/// Bytes of several kinds and sizes, so that every way through the writer is taken.
enum Sample {
  static let text = Array(String(repeating: "Zeile mit Umlauten äöü\n", count: 500).utf8)

  static func entries() -> [(name: String, bytes: [UInt8])] { made }

  private static let made: [(name: String, bytes: [UInt8])] = {
    var random = SeededGenerator(state: 1)
    return [
      ("report.json", Array("{\"a\": 1}\n".utf8)),
      ("empty", []),
      ("findings.ndjson", text),
      ("random.bin", random.bytes(5000)),
      ("store/Nötes 日本.sqlite", random.bytes(600_000) + [UInt8](repeating: 0, count: 700_000)),
      ("store/zeros", [UInt8](repeating: 0, count: 1_000_000)),
      ("store/exactly-one-window", [UInt8](repeating: 7, count: 256 * 1024)),
    ]
  }()

  static func plan(
    _ entries: [(name: String, bytes: [UInt8])] = entries(), seconds: Double = 1_795_211_587
  ) throws -> BundlePlan {
    var plan = try BundlePlan(
      tool: .init(name: "lifeboat", version: "0.1.0"),
      created: BundleDate(secondsSince1970: seconds), contents: .structure)
    for entry in entries {
      try plan.add(
        name: entry.name, source: .bytes(entry.bytes), origin: "memory", why: "for the test")
    }
    plan.withhold("values of rows")
    return plan
  }
}
