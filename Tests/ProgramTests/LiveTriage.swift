#if os(Linux)
  import CLibrary
  import Fixtures
  import Foundation
  import Testing

  /// A run of `lifeboat triage -` that gets one path after the other, so that a test can come between.
  final class LiveTriage {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let temporary: TemporaryFolder
    private var buffer = Data()

    init(_ arguments: [String]) throws {
      temporary = try TemporaryFolder()
      process.executableURL = URL(fileURLWithPath: try #require(Program.path))
      process.arguments = ["triage"] + arguments
      var environment = ProcessInfo.processInfo.environment
      environment["TMPDIR"] = temporary.url.path
      process.environment = environment
      process.standardInput = input
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    func send(_ path: String) { input.fileHandleForWriting.write(Data((path + "\n").utf8)) }

    /// The next line of the output.
    func line() throws -> JSON {
      while true {
        if let end = buffer.firstIndex(of: 0x0a) {
          let line = Data(buffer[..<end])
          buffer = Data(buffer[(end + 1)...])
          return try JSONDecoder().decode(JSON.self, from: line)
        }
        let piece = output.fileHandleForReading.availableData
        if piece.isEmpty { throw FixtureError("the run ended without another line") }
        buffer += piece
      }
    }

    func line(for path: String) throws -> JSON {
      send(path)
      return try line()
    }

    /// The processes that the run has started.
    func workers() throws -> [pid_t] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        .filter { Self.field($0, 1) == String(process.processIdentifier) && Self.state($0) != "Z" }
    }

    static func state(_ process: pid_t) -> String? { field(process, 0) }

    /// A field behind the name: 0 is the state, 1 the parent.
    private static func field(_ process: pid_t, _ index: Int) -> String? {
      guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let name = text.lastIndex(of: ")")
      else { return nil }
      let fields = text[name...].dropFirst(2).split(separator: " ")
      return fields.indices.contains(index) ? String(fields[index]) : nil
    }

    /// Stops the only worker.
    func stopWorker() throws -> pid_t {
      let worker = try #require(try workers().first)
      kill(worker, SIGSTOP)
      while Self.state(worker) != "T" { usleep(1000) }
      return worker
    }

    /// Waits until a worker that is stopped has a request to read.
    static func waitForRequest(_ worker: pid_t) throws {
      let pipe = unsafe open("/proc/\(worker)/fd/0", O_RDONLY | O_NONBLOCK)
      try #require(pipe >= 0)
      defer { close(pipe) }
      var entry = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
      while unsafe poll(&entry, 1, 1000) == 0 {}
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    func wait() -> Int32 {
      process.waitUntilExit()
      return process.terminationReason == .uncaughtSignal
        ? 128 + process.terminationStatus : process.terminationStatus
    }

    /// Ends the list, and returns the exit status.
    func end() throws -> Int32 {
      try input.fileHandleForWriting.close()
      return wait()
    }

    /// What is left of private folders.
    func privateFolders() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: temporary.url.path)
    }
  }
#endif
