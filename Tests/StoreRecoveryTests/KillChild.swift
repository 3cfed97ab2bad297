import CLibrary
import Fixtures
import Foundation
import Testing

/// A user whom permissions bind.
struct BoundUser {
  /// The user's id; nil for the user who runs the tests.
  let id: UInt32?

  /// The user who runs the tests or, when that is root, nobody, who gets the bench. nil when root cannot become nobody.
  init?(for bench: Workbench) throws {
    guard geteuid() == 0 else {
      id = nil
      return
    }
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else {
      print("skipped: root may read anything, and there is no setpriv to become another user")
      return nil
    }
    id = 65534
    _ = try run("/bin/chown", ["-R", "65534:65534", bench.folder])
  }
}

/// A process of `RecoveryChild`, the host app of these tests.
final class Child {
  /// The status of a process that ended where it was told to.
  static let ended: Int32 = 77

  let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var rest = Data()

  /// Starts `RecoveryChild COMMAND STORE OPTION…`, as another user if asked to.
  init(_ command: String, _ store: String, _ options: [String], user: UInt32? = nil) throws {
    let program = try Self.path()
    // To write to one that has ended is an error and no end of the tests.
    _ = signal(SIGPIPE, SIG_IGN)
    var arguments = [command, store] + options
    process.executableURL = URL(fileURLWithPath: program)
    if let user {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
      arguments =
        ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--", program] + arguments
    }
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  /// Runs one to its end.
  static func run(
    _ command: String, _ store: String, _ options: [String] = [], user: UInt32? = nil
  ) throws -> (status: Int32, lines: [String]) {
    try Child(command, store, options, user: user).finish()
  }

  /// The next line that it says; nil when it has ended.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: 10) {
        let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
        rest = Data(rest[(end + 1)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest += more
    }
  }

  /// Waits for `count` bytes; fewer when it ended before.
  func read(bytes count: Int) {
    while rest.count < count {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return }
      rest += more
    }
  }

  func say(_ line: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
  }

  func finish() throws -> (status: Int32, lines: [String]) {
    try? input.fileHandleForWriting.close()
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    process.waitUntilExit()
    let isKilled = process.terminationReason == .uncaughtSignal
    return ((isKilled ? 128 : 0) + process.terminationStatus, lines)
  }

  func kill() { _ = Self.end(process.processIdentifier) }

  private static func end(_ process: Int32) -> Int32 {
    CLibrary.kill(process, SIGKILL)
  }

  /// The program stands beside the bundle of the tests.
  private static func path() throws -> String {
    let places = [
      Bundle.main.bundleURL, Bundle.main.bundleURL.deletingLastPathComponent(),
      URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingLastPathComponent(),
    ]
    return try #require(
      places.map { $0.appendingPathComponent("RecoveryChild").path }.first {
        FileManager.default.isExecutableFile(atPath: $0)
      }, "RecoveryChild is not built")
  }
}
