import ArgumentParser
import CLibrary
import Foundation
import SafeFiles
import SafeText
import StoreExtraction
import StoreFiles
import StoreTriage

/// The command `lifeboat triage-worker`. `lifeboat triage` starts it as a child process that reads inputs one after the
/// other. If a file makes a reader crash or hang, only the child process is affected.
struct TriageWorker: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: name,
    abstract: "Reads inputs for triage: requests on standard input, answers on standard output.",
    shouldDisplay: false)

  static let name = "triage-worker"

  /// The maximum length of a line, in bytes. The strings in a line are limited in number and length, so no line should
  /// reach this maximum.
  private static let maxLineBytes = 64 << 10
  /// The number of seconds that a worker keeps running after the timeout of an input before `SIGALRM` ends it.
  /// Normally, the parent process has ended the worker by then.
  private static let grace = 30

  func run() throws {
    var requests = RecordStream(descriptor: 0, separator: 0, limit: 16 << 20)
    guard let record = requests.next(),
      let setup = try? JSONDecoder().decode(TriageSetup.self, from: Data(record))
    else {
      throw Failure(
        64, "usage.parser", "triage-worker is an internal command of lifeboat triage",
        hint: "read inputs with: lifeboat triage PATH")
    }
    Self.limitMemory(to: setup.maxMemory)
    let reader = TriageReader(
      secrets: try setup.secrets, key: setup.key, options: setup.options,
      analysers: try Analysers.including(setup.analysers), describe: Self.describe)
    while let bytes = requests.next(), let request = TriageRequest(bytes) {
      _ = alarm(UInt32(clamping: setup.timeout + Self.grace))
      let answer = try Self.answer(to: request, reader, setup)
      _ = alarm(0)
      if SystemCalls.write(answer[...], to: 1) != nil { break }
    }
    Self.removeFolder()
  }

  private static func answer(
    to request: TriageRequest, _ reader: TriageReader, _ setup: TriageSetup
  ) throws -> [UInt8] {
    guard let path = PathBytes.text(request.path) else {
      let line = TriageLine(
        path: PathBytes.shown(request.path),
        failed: .init(
          code: "input.nameNotText",
          message: "the path is not UTF-8; read a copy of the input under another name"))
      return try TriageAnswer.result(.line(line.json(), identity: nil)).bytes
    }
    let start = DispatchTime.now().uptimeNanoseconds
    switch reader.answer(to: path, isFound: request.isFound, known: request.known) {
    case .line(let line, let identity):
      return try TriageAnswer.result(.line(json(line, start, setup), identity: identity)).bytes
    case .lines(let lines):
      return try TriageAnswer.result(.lines(lines.map { try json($0, start, setup) })).bytes
    case .inputs(let items): return try TriageAnswer.result(.inputs(items)).bytes
    case .known: return try TriageAnswer.known.bytes
    case .nothing: return try TriageAnswer.result(.nothing).bytes
    }
  }

  private static func json(
    _ line: TriageLine, _ start: UInt64, _ setup: TriageSetup
  ) throws -> [UInt8] {
    var line = line
    if setup.isTimed {
      line.seconds = Double((DispatchTime.now().uptimeNanoseconds - start) / 1000) / 1_000_000
    }
    let json = try line.json()
    if json.count <= maxLineBytes { return json }
    return try TriageLine(
      path: line.path,
      failed: .init(
        code: "triage.failed",
        message: "the result for this input is longer than \(maxLineBytes >> 10) KiB")
    ).json()
  }

  /// Returns the code and the message that the other commands print for `error`; nil for an unknown error. If the
  /// message contains the path of this worker's private folder, replaces the message by a general one, because the path
  /// is different in each run.
  private static func describe(_ error: any Error) -> TriageLine.Failed? {
    guard let failure = Failure(error) else { return nil }
    let place = FileManager.default.temporaryDirectory.path
    let isPrivate = failure.message.utf8.firstRange(of: place.utf8) != nil
    return .init(
      code: failure.code,
      message: isPrivate ? "the content of the input cannot be read" : failure.message)
  }

  /// Limits the memory of this process to `bytes`. If a reader needs more memory, the allocation fails and the worker
  /// ends.
  private static func limitMemory(to bytes: Int64) {
    var limit = rlimit()
    limit.rlim_cur = rlim_t(clamping: bytes)
    limit.rlim_max = limit.rlim_cur
    #if canImport(Glibc)
      unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
    #elseif canImport(Musl)
      unsafe _ = setrlimit(RLIMIT_DATA, &limit)
    #else
      unsafe _ = setrlimit(RLIMIT_AS, &limit)
    #endif
    // A core file is disabled, because it would contain the data that the worker has read.
    var none = rlimit()
    #if canImport(Glibc)
      unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    #else
      unsafe _ = setrlimit(RLIMIT_CORE, &none)
    #endif
  }

  /// Removes this worker's private folder and the parent folder, unless they contain files. Normally, the parent
  /// process removes both folders, but that process may have ended.
  private static func removeFolder() {
    guard let folder = ProcessInfo.processInfo.environment[WorkerFolders.variable] else { return }
    _ = unsafe rmdir(folder)
    _ = unsafe rmdir(PathText.folder(of: folder))
  }
}

/// Reads records from a descriptor. Each record ends in a separator.
struct RecordStream {
  private let descriptor: Int32
  private let separator: UInt8
  /// The maximum length of a record, in bytes.
  private let limit: Int
  /// Bytes that were read. The bytes before `start` belong to records that ``next()`` has returned.
  var buffer: [UInt8] = []
  private var start = 0
  /// The number of bytes of all records that ``next()`` has returned, with their separators.
  private(set) var offset: Int64 = 0

  init(descriptor: Int32, separator: UInt8, limit: Int) {
    self.descriptor = descriptor
    self.separator = separator
    self.limit = limit
  }

  /// Returns the next record, without the separator. Nil at the end of the stream, or if the next record has no
  /// separator or is too long.
  mutating func next() -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: separator) {
        defer {
          offset += Int64(end + 1 - start)
          start = end + 1
        }
        return Array(buffer[start..<end])
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      guard buffer.count < limit else { return nil }
      var piece = [UInt8](repeating: 0, count: 64 << 10)
      let count = unsafe piece.withUnsafeMutableBytes { bytes in
        SystemCalls.retrying { unsafe read(descriptor, bytes.baseAddress, bytes.count) }
      }
      guard count > 0 else { return nil }
      buffer += piece[..<count]
    }
  }
}

/// Converts paths from bytes to strings. A list of inputs may contain paths that are not UTF-8.
enum PathBytes {
  /// Returns the path as a string; nil when the bytes are not UTF-8.
  static func text(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.utf8.elementsEqual(bytes) ? text : nil
  }

  /// Returns the path as a string for output. Each byte that is not part of valid UTF-8 is escaped, for example as
  /// `\xE9`.
  static func shown(_ bytes: [UInt8]) -> String {
    if let text = text(bytes) { return text }
    var shown = ""
    var rest = bytes[...]
    while !rest.isEmpty {
      // A character has at most four bytes.
      if let count = (1...min(4, rest.count)).first(where: { text(Array(rest.prefix($0))) != nil })
      {
        shown += String(decoding: rest.prefix(count), as: UTF8.self)
        rest = rest.dropFirst(count)
      } else {
        shown += "\\x" + String(rest[rest.startIndex], radix: 16, uppercase: true)
        rest = rest.dropFirst()
      }
    }
    return shown
  }
}
