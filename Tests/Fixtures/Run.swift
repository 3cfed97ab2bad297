import CLibrary
import Dispatch
public import Foundation

/// Runs a program to its end, and returns what the program wrote.
///
/// The program writes its output to files and reads its input from a file. So the two processes never wait for each
/// other, however much is read or written, and a descendant that keeps a pipe open cannot make this function wait.
///
/// - Parameters:
///   - executable: the absolute path of the program; see `findTool`.
///   - arguments: the arguments after the program's name.
///   - stdin: the input of the program; nil for no input.
///   - environment: the complete environment of the program; nil for the environment of this process.
///   - timeout: the number of seconds after which the program is killed and an error is thrown.
/// - Returns: the exit status of the program. If a signal ended the program, this is 128 + the signal's number, as in a
///   shell.
/// - Throws: `FixtureError` when the program had to be killed, or Foundation's error when the program could not be
///   started.
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
  try withoutBlockedSignals { try process.run() }
  if ended.wait(timeout: .now() + timeout) == .timedOut {
    // SIGTERM would not be enough, because a program may ignore it.
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

/// Calls `body` on a thread that blocks no signals. A process inherits the mask of the thread that starts it, and the
/// threads of Dispatch block nearly all signals; dash then never hears that a child has ended.
private func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
  var none = sigset_t()
  var before = sigset_t()
  unsafe sigemptyset(&none)
  unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
  defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
  try body()
}

/// Looks for a program in `PATH`. Returns the path of the program, or nil when the program is not installed.
public func findTool(_ name: String) -> String? {
  let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
  return path.split(separator: ":").map { "\($0)/\(name)" }.first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
}
