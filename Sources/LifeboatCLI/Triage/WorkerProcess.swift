import CLibrary
import Foundation
import SafeFiles
import SafeText
import StoreTriage
import SupportBundle

/// The private folders into which workers unpack archives. The run has one folder, which contains a folder for each
/// worker.
final class WorkerFolders {
  /// The environment variable with the path of the worker's folder.
  static let variable = "LIFEBOAT_WORKER_FOLDER"

  let path: String
  /// The folder, which is locked as long as this object exists. Call ``remove(_:)`` to remove the folder together with
  /// files that killed workers have left in it.
  private let tree: OutputTree
  private var count = 0

  init() throws {
    let place = FileManager.default.temporaryDirectory.path
    do throws(BundleError) {
      tree = try OutputTree(in: place) { _ = $1() }
      path = PathText.joined(place, try tree.makeRunFolder(isForWorkers: true))
    } catch {
      throw Failure(
        73, error.code.rawValue,
        "no folder can be made in the temporary folder: \(error.message), \(error.path ?? place)",
        hint: "check that the folder in TMPDIR can be written to and has free space")
    }
  }

  func next() throws -> String {
    let folder = PathText.joined(path, String(count))
    count += 1
    guard unsafe mkdir(folder, 0o700) == 0 else {
      throw SystemCallError(call: "mkdir", path: folder, errno: errno)
    }
    return folder
  }

  func remove(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }
}

/// A child process that reads inputs. It runs the same program as this process.
final class WorkerProcess {
  let process: pid_t
  /// The descriptor to which this process writes requests for the child process. It is in non-blocking mode.
  let requests: Int32
  /// The file descriptor from which the worker's answers are read, in non-blocking mode.
  let answers: Int32
  let folder: String
  /// The bytes of requests that are not written to the pipe yet.
  private(set) var unsent: [UInt8]
  private var received: [UInt8] = []
  /// Whether writing to the worker has failed. The worker then gets no more requests.
  private(set) var isBroken = false
  private(set) var hasAnswered = false
  private var isClosed = false

  /// The input that the worker is reading; nil if the worker has no input. `end` is the deadline for the answer, in
  /// nanoseconds of uptime.
  var work: (job: TriageOrder.Job, end: UInt64)?

  /// The maximum length of an answer, in bytes. The answer for a folder may contain 100,000 paths.
  static let maxAnswerBytes = 64 << 20

  /// Starts a worker. `setup` is the ``TriageSetup`` as JSON, without the zero byte. `folder` is the path of the
  /// worker's private folder.
  init(_ setup: [UInt8], folder: String) throws {
    let (requestEnd, requests) = try Self.pipe()
    let (answers, answerEnd) = try Self.pipe()
    defer {
      close(requestEnd)
      close(answerEnd)
    }
    do {
      process = try Self.spawn(requestEnd, answerEnd, folder)
    } catch {
      close(requests)
      close(answers)
      throw error
    }
    _ = fcntl(requests, F_SETFL, O_NONBLOCK)
    _ = fcntl(answers, F_SETFL, O_NONBLOCK)
    self.requests = requests
    self.answers = answers
    self.folder = folder
    unsent = setup + [0]
  }

  deinit { closePipes() }

  /// Closes the pipes to and from the worker. A worker that waits for a request then ends.
  func closePipes() {
    guard !isClosed else { return }
    isClosed = true
    close(requests)
    close(answers)
  }

  // MARK: - Bytes

  func send(_ bytes: [UInt8]) {
    unsent += bytes
    flush()
  }

  /// Writes as much of ``unsent`` as fits into the pipe. If writing fails, only sets ``isBroken``; the next
  /// ``receive()`` reports the end of the worker.
  func flush() {
    while !unsent.isEmpty {
      let count = unsafe unsent.withUnsafeBytes { bytes in
        SystemCalls.retrying { unsafe write(requests, bytes.baseAddress, bytes.count) }
      }
      guard count > 0 else {
        if count < 0, errno != EAGAIN, errno != EWOULDBLOCK {
          unsent = []
          isBroken = true
        }
        return
      }
      unsent.removeFirst(count)
    }
  }

  /// The result of reading the pipe from the worker.
  enum Reading {
    /// A complete answer, without the line end.
    case answer(ArraySlice<UInt8>)
    /// No complete answer has come yet.
    case waiting
    /// The worker has ended, or its answer is longer than the maximum.
    case ended
  }

  /// Reads the bytes that are in the pipe from the worker, without waiting for more.
  func receive() -> Reading {
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes { bytes in
        SystemCalls.retrying { unsafe read(answers, bytes.baseAddress, bytes.count) }
      }
      if count < 0 { return errno == EAGAIN || errno == EWOULDBLOCK ? .waiting : .ended }
      if count == 0 { return .ended }
      received += piece[..<count]
      // A worker has only one request at a time, so nothing follows the line end of an answer.
      if received.last == 0x0a {
        let answer = received.dropLast()
        received = []
        hasAnswered = true
        return .answer(answer)
      }
      if received.count > Self.maxAnswerBytes { return .ended }
    }
  }

  // MARK: - The process

  func kill() { _ = CLibrary.kill(process, SIGKILL) }

  /// Returns a description of how the worker ended; nil while the worker runs.
  func ending() -> String? {
    var status: Int32 = 0
    let process = process
    let result = SystemCalls.retrying { unsafe waitpid(process, &status, WNOHANG) }
    if result == 0 { return nil }
    guard result == process else { return "the process is gone" }
    let signal = status & 0x7f
    return signal == 0
      ? "the exit status was \((status >> 8) & 0xff)" : "signal \(signal) ended it"
  }

  /// Makes a pipe. The descriptors are never 0, 1 or 2, and are close-on-exec.
  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard unsafe CLibrary.pipe(&ends) == 0 else {
      throw SystemCallError(call: "pipe", path: "", errno: errno)
    }
    let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
    ends.forEach { _ = close($0) }
    guard moved[0] >= 0, moved[1] >= 0 else {
      moved.forEach { if $0 >= 0 { close($0) } }
      throw SystemCallError(call: "fcntl", path: "", errno: errno)
    }
    return (moved[0], moved[1])
  }

  /// The path of the executable file that this process runs.
  private static var program: String {
    #if canImport(Darwin)
      var bytes = [CChar](repeating: 0, count: 4096)
      var size = UInt32(bytes.count)
      if unsafe _NSGetExecutablePath(&bytes, &size) == 0 {
        return unsafe String(cString: bytes)
      }
    #else
      // This link refers to the running executable, even if the file at its path was replaced.
      if unsafe access("/proc/self/exe", X_OK) == 0 { return "/proc/self/exe" }
    #endif
    return CommandLine.arguments[0]
  }

  private static func spawn(_ input: Int32, _ output: Int32, _ folder: String) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
    // Standard error is discarded, because a crash is reported in the line of the input.
    unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    // The worker is in its own process group, so that Ctrl-C sends no SIGINT to it. After Ctrl-C, the parent process
    // ends the workers.
    unsafe posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ, SIGPIPE, SIGALRM, SIGCHLD] {
      unsafe sigaddset(&signals, signal)
    }
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)

    var variables = ProcessInfo.processInfo.environment
    variables["TMPDIR"] = folder
    variables[WorkerFolders.variable] = folder
    // The Swift runtime would need seconds for a backtrace, and the signal's number is enough to report a crash.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    var process: pid_t = 0
    let result = unsafe withStrings(["lifeboat", TriageWorker.name]) {
      arguments in
      unsafe withStrings(variables.map { "\($0.key)=\($0.value)" }) { environment in
        unsafe posix_spawn(&process, program, &actions, &attributes, arguments, environment)
      }
    }
    guard result == 0 else {
      throw SystemCallError(call: "posix_spawn", path: program, errno: result)
    }
    return process
  }

  /// Calls `body` with a nil-terminated array of C strings.
  private static func withStrings(
    _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
  ) -> Int32 {
    var pointers = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
      // The array has nil as its last element, so it is never empty.
      unsafe buffer.baseAddress.map { unsafe body(UnsafePointer($0)) } ?? EINVAL
    }
  }
}
