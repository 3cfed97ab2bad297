import Dispatch
public import Foundation

/// Runs a program to its end and returns what it wrote.
///
/// Its output goes to files and its input comes from one, so that no amount of either can make the
/// two sides wait for each other, and no descendant that keeps a pipe open can make this wait.
///
/// - Parameters:
///   - executable: an absolute path; see `findTool`.
///   - arguments: the arguments after the program's name.
///   - stdin: the input; nil for none.
///   - environment: the whole environment; nil to hand on this process's own.
///   - timeout: seconds after which the program is killed and an error is thrown.
/// - Returns: the exit status, or 128 + the signal's number when a signal ended it, as a shell reports it.
/// - Throws: `FixtureError` when it had to be stopped, or Foundation's error when it cannot be started.
public func run(
  _ executable: String, _ arguments: [String], stdin: Data? = nil,
  environment: [String: String]? = nil, timeout: Double = 900
) throws -> (status: Int32, stdout: Data, stderr: Data) {
  let folder = try TemporaryFolder()
  let files = ["in", "out", "err"].map { folder.url.appendingPathComponent($0) }
  try (stdin ?? Data()).write(to: files[0])
  for file in files.dropFirst() { try Data().write(to: file) }
  let input = try FileHandle(forReadingFrom: files[0])
  let output = try FileHandle(forWritingTo: files[1])
  let errors = try FileHandle(forWritingTo: files[2])
  defer {
    for handle in [input, output, errors] { try? handle.close() }
  }

  let process = Process()
  process.executableURL = URL(fileURLWithPath: executable)
  process.arguments = arguments
  if let environment { process.environment = environment }
  process.standardInput = input
  process.standardOutput = output
  process.standardError = errors
  let ended = DispatchSemaphore(value: 0)
  process.terminationHandler = { _ in ended.signal() }
  try process.run()
  if ended.wait(timeout: .now() + timeout) == .timedOut {
    // Not SIGTERM: a child inherits blocked signals.
    kill(process.processIdentifier, SIGKILL)
    ended.wait()
    throw FixtureError("\(executable) was stopped after \(timeout) s: \(arguments)")
  }
  let status = process.terminationStatus
  return (
    process.terminationReason == .uncaughtSignal ? 128 + status : status,
    try Data(contentsOf: files[1]), try Data(contentsOf: files[2])
  )
}

/// The path of a program in `PATH`, or nil when it is not installed.
public func findTool(_ name: String) -> String? {
  let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
  return path.split(separator: ":").map { "\($0)/\(name)" }.first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
}
