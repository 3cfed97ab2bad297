import CLibrary
import Fixtures
import Foundation
import Testing

/// What one run of the program gave.
struct Outcome {
  let status: Int32
  let stdout: Data
  let stderr: Data

  var text: String { String(decoding: stdout, as: UTF8.self) }
  var errors: String { String(decoding: stderr, as: UTF8.self) }

  /// Standard output as JSON.
  func json() throws -> JSON { try JSONDecoder().decode(JSON.self, from: stdout) }

  /// Standard output as JSON lines.
  func lines() throws -> [JSON] {
    try stdout.split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(JSON.self, from: Data($0))
    }
  }

  /// The code in the error line, such as `file.missing`; nil when the line does not have the form that the
  /// manual gives.
  var errorCode: String? {
    let pattern = /^error: [^\n]+ \(([a-z]+\.[A-Za-z]+)\)\n(hint: [^\n]+\n)?$/
    return errors.wholeMatch(of: pattern).map { String($0.output.1) }
  }
}

/// The executable that this package builds.
enum Program {
  /// Its path: beside the test bundle, else where a debug build puts it.
  static let path: String? = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let folders = [
      URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
      Foundation.Bundle.main.bundleURL,
      Foundation.Bundle.main.bundleURL.deletingLastPathComponent(),
      root.appendingPathComponent(".build/debug"),
    ]
    return folders.map { $0.appendingPathComponent("lifeboat").path }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Runs it with a plain terminal and an English locale.
  static func run(
    _ arguments: [String], timeout: Double = 900, columns: Int = 200,
    temporaryFolder: String? = nil
  ) throws -> Outcome {
    let path = try #require(path, "the executable was not built")
    var environment = ProcessInfo.processInfo.environment
    environment["NO_COLOR"] = "1"
    environment["COLUMNS"] = String(columns)
    // Where other tests make no folders.
    if let temporaryFolder { environment["TMPDIR"] = temporaryFolder }
    let result = try Fixtures.run(path, arguments, environment: environment, timeout: timeout)
    return Outcome(status: result.status, stdout: result.stdout, stderr: result.stderr)
  }

  static func run(_ arguments: String...) throws -> Outcome { try run(arguments) }
}

/// A JSON value, numbers apart as JSON cannot do it.
enum JSON: Decodable, Hashable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  /// The most frequent kinds first: each that does not fit costs an error.
  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if let number = try? value.decode(Int64.self) {
      self = .integer(number)
    } else if let flag = try? value.decode(Bool.self) {
      self = .boolean(flag)
    } else if let number = try? value.decode(Double.self) {
      self = .real(number)
    } else if let array = try? value.decode([JSON].self) {
      self = .array(array)
    } else {
      self = .object(try value.decode([String: JSON].self))
    }
  }

  /// A member of an object; nil when it is absent or this is no object.
  subscript(name: String) -> JSON? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  /// An element of an array; nil when the array is shorter.
  subscript(index: Int) -> JSON? {
    array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
  }

  var array: [JSON]? { if case .array(let values) = self { values } else { nil } }
  var object: [String: JSON]? { if case .object(let members) = self { members } else { nil } }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var strings: [String]? { array.map { $0.compactMap(\.string) } }
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }
}

/// What the demo made, in a folder of its own.
final class Demonstration: Sendable {
  /// A demo that was run once, for the tests that only read what it made. Its folder is removed when the tests end.
  static let shared: Result<Demonstration, any Error> = Result {
    let demo = try Demonstration()
    atexit {
      guard case .success(let demo) = Demonstration.shared else { return }
      try? FileManager.default.removeItem(at: demo.folder.deletingLastPathComponent())
    }
    return demo
  }

  /// The folder of the demo.
  let folder: URL
  /// The store that was set aside.
  let kept: URL
  /// The folder of its incident.
  let incident: URL
  private let temporary: TemporaryFolder

  /// Runs the demo in a folder of its own.
  init() throws {
    temporary = try TemporaryFolder()
    folder = temporary.url.appendingPathComponent("Demo")
    let outcome = try Program.run("demo", "--quiet", "-o", folder.path)
    guard outcome.status == 0 else { throw FixtureError("the demo failed: \(outcome.errors)") }
    let quarantines = folder.appendingPathComponent("Stores/Incompatible")
    let names = try FileManager.default.contentsOfDirectory(atPath: quarantines.path)
      .filter { !$0.hasPrefix(".") }
    guard let name = names.first, names.count == 1 else {
      throw FixtureError("the demo made \(names.count) incidents")
    }
    incident = quarantines.appendingPathComponent(name)
    kept = incident.appendingPathComponent("store/Notes.sqlite")
  }

  /// Copies the store that was set aside into a folder of its own, with its external file and without its log.
  func copyOfStore(in folder: TemporaryFolder) throws -> URL {
    let place = folder.url.appendingPathComponent("store")
    try FileManager.default.copyItem(at: kept.deletingLastPathComponent(), to: place)
    let store = place.appendingPathComponent("Notes.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return store
  }
}
