import CLibrary
import Foundation
import SafeFiles
import StoreFiles

/// A file that records the results of a run in their order. Records are appended; records that are no longer valid are
/// cut off the end. A later run with the same inputs and options takes up the recorded results without reading these
/// inputs again.
///
/// The first line names the run. Each other line is the result of an input: the first 16 hexadecimal digits of the
/// SHA-256 of all that follows the next space; the space; a letter; `?` for an input met in a folder, else `=`; the
/// path, with line ends, tabs and backslashes escaped; a tab; the result. The letter is `L` for a line, `M` for the
/// lines of an archive with several stores (tabs between them), `N` for nothing, `E` for a folder. A line without its
/// end was cut off by a kill, and a line with another hash was damaged. Neither of these lines counts, nor do the lines
/// after it. An empty file is a journal whose first line was cut off.
final class TriageJournal {
  private struct Head: Codable, Equatable {
    var schema = "lifeboat.triageJournal"
    var version = 2
    /// The SHA-256 of the texts that tell one run from another: the version of lifeboat, the options that results
    /// depend on, and the inputs as they were given.
    var run: String
  }

  /// The place of a record in the journal.
  struct Place {
    /// Where the record begins, in bytes from the start of the file.
    let offset: Int64
    /// How many records before this one were taken up.
    let takenUp: Int
  }

  /// The recorded result of one input.
  struct Record {
    let path: [UInt8]
    let isFound: Bool
    let result: TriageOrder.Result
  }

  /// How many times the lock is tried again, with 50 ms between two tries.
  private static let patience = 40

  private let path: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  /// The offset of `buffer[start]` in the file.
  private var offset: Int64 = 0
  private var isReading: Bool
  private var unwritten: [UInt8] = []
  /// How many records of an earlier run were taken up.
  private(set) var takenUp = 0
  /// The place of the record that ``next()`` returned last.
  private(set) var place = Place(offset: 0, takenUp: 0)

  /// Opens the journal at a path, or makes a new one.
  ///
  /// - Parameters:
  ///   - path: the path of the journal.
  ///   - run: texts that tell this run from others. A journal with different texts is refused.
  /// - Throws: a `Failure` when the file is not a journal, belongs to another run or is in use; `SystemCallError`.
  init(_ path: String, run: [String]) throws {
    self.path = path
    let made = SystemCalls.create(path, O_RDWR | O_NONBLOCK)
    let isNew = made >= 0
    descriptor = isNew ? made : SystemCalls.open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else {
      throw SystemCallError(call: "open", path: path, errno: errno)
    }
    isReading = true
    guard FileStatus.found(descriptor)?.kind == .file else {
      throw Failure(
        73, "triage.noJournal", "\(path): not an ordinary file, so not a journal",
        hint: "name a new file for --journal")
    }
    // After a run was killed, a worker that the run was starting may hold the lock a little longer, until the worker
    // executes its own program.
    var isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    for _ in 0..<Self.patience where !isOurs {
      usleep(50_000)
      isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
    guard isOurs else {
      throw Failure(
        75, "triage.journalInUse", "\(path): another run writes to this journal",
        hint: "wait until the other run has ended, or name another file")
    }
    let head = Head(run: Digest.sha256(Array(run.joined(separator: "\0").utf8)))
    let firstLine = Array(try JSONEncoder.sorted.encode(head)) + [0x0a]
    let line = nextLine()
    if line == nil, isNew || !EvidenceGuard.mayBeSideFile(path), isCut(firstLine) {
      try cut(at: 0)
      unwritten = firstLine
      try flush()
      return
    }
    guard let line, let found = try? JSONDecoder().decode(Head.self, from: Data(line)),
      found.schema == head.schema
    else {
      throw Failure(
        73, "triage.noJournal", "\(path): not a journal of triage; nothing was written to it",
        hint: "name a new file, or one that --journal made")
    }
    guard found.version == head.version else {
      throw Failure(
        64, "triage.otherRun",
        "\(path): the journal is of \(found.version < head.version ? "an earlier" : "a later") version of lifeboat",
        hint: "name a new file for --journal")
    }
    guard found == head else {
      throw Failure(
        64, "triage.otherRun", "\(path): the journal is of a run with other inputs or options",
        hint: "give the same inputs and options, or name a new file")
    }
  }

  deinit { close(descriptor) }

  /// Whether the file holds only a beginning of the first line: it is new, or a kill came before the line was whole.
  private func isCut(_ firstLine: [UInt8]) -> Bool {
    FileStatus.found(descriptor)?.sizeBytes == Int64(buffer.count) && firstLine.starts(with: buffer)
  }

  // MARK: - Going on

  /// The next record of an earlier run. Nil at the first record that is missing or damaged; this record and all that
  /// follow are then removed.
  func next() throws -> Record? {
    guard isReading else { return nil }
    let before = offset
    if let line = nextLine(), let record = Self.record(line) {
      place = Place(offset: before, takenUp: takenUp)
      takenUp += 1
      return record
    }
    try cut(at: before)
    return nil
  }

  /// Removes the record at a place and all that follow, because the inputs have changed. A place that was removed
  /// already is passed over.
  func drop(from place: Place) throws {
    guard place.takenUp < takenUp else { return }
    takenUp = place.takenUp
    try cut(at: place.offset)
  }

  private func cut(at place: Int64) throws {
    isReading = false
    buffer = []
    guard ftruncate(descriptor, off_t(place)) == 0, lseek(descriptor, off_t(place), SEEK_SET) >= 0
    else { throw SystemCallError(call: "ftruncate", path: path, errno: errno) }
  }

  /// The next line without its end; nil at the end of the file, and for a line that has no end or is too long.
  private func nextLine() -> [UInt8]? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0a) {
        defer {
          offset += Int64(end + 1 - start)
          start = end + 1
        }
        return Array(buffer[start..<end])
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      // No valid line is longer than the longest answer with its path, so a longer one is damaged.
      guard buffer.count < WorkerProcess.maxAnswerBytes + 1 << 20 else { return nil }
      var piece = [UInt8](repeating: 0, count: 256 << 10)
      let at = offset + Int64(buffer.count)
      let count = unsafe piece.withUnsafeMutableBytes { bytes in
        unsafe SystemCalls.read(descriptor, at: at, into: bytes).0
      }
      guard count > 0 else { return nil }
      buffer += piece[..<count]
    }
  }

  // MARK: - Records

  /// The number of hexadecimal digits of a line's hash.
  private static let checkDigits = 16

  /// The hash that shows whether the rest of a line is as it was written.
  private static func check(of rest: [UInt8]) -> [UInt8] {
    Array(Digest.sha256(rest).utf8.prefix(checkDigits))
  }

  private static func record(_ line: [UInt8]) -> Record? {
    guard line.count > checkDigits, line[checkDigits] == 0x20 else { return nil }
    let rest = Array(line[(checkDigits + 1)...])
    guard line[..<checkDigits].elementsEqual(check(of: rest)) else { return nil }
    return record(checked: rest)
  }

  private static func record(checked line: [UInt8]) -> Record? {
    guard line.count > 2, let tab = line.firstIndex(of: 0x09), tab >= 2 else { return nil }
    let isFound = line[1] == UInt8(ascii: "?")
    guard isFound || line[1] == UInt8(ascii: "=") else { return nil }
    let path = unescaped(line[2..<tab])
    let rest = Array(line[(tab + 1)...])
    switch line[0] {
    case UInt8(ascii: "L"):
      guard rest.first == UInt8(ascii: "{"), rest.last == UInt8(ascii: "}") else { return nil }
      return Record(path: path, isFound: isFound, result: .line(rest, identity: nil))
    case UInt8(ascii: "M"):
      let lines = TriageAnswer.separated(rest[...])
      guard lines.allSatisfy({ $0.first == UInt8(ascii: "{") && $0.last == UInt8(ascii: "}") })
      else { return nil }
      return Record(path: path, isFound: isFound, result: .lines(lines))
    case UInt8(ascii: "N"): return Record(path: path, isFound: isFound, result: .nothing)
    case UInt8(ascii: "E"): return Record(path: path, isFound: isFound, result: .inputs([]))
    default: return nil
    }
  }

  private static func line(of record: Record) -> [UInt8] {
    let (letter, rest): (UInt8, [UInt8]) =
      switch record.result {
      case .line(let json, _): (UInt8(ascii: "L"), json)
      case .lines(let lines): (UInt8(ascii: "M"), TriageAnswer.joined(lines))
      case .nothing: (UInt8(ascii: "N"), [])
      case .inputs: (UInt8(ascii: "E"), [])
      }
    let mark = record.isFound ? UInt8(ascii: "?") : UInt8(ascii: "=")
    let checked = [letter, mark] + escaped(record.path) + [0x09] + rest
    return check(of: checked) + [0x20] + checked + [0x0a]
  }

  private static func escaped(_ path: [UInt8]) -> [UInt8] {
    path.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x5c: Array("\\\\".utf8)
      case 0x0a: Array("\\n".utf8)
      case 0x09: Array("\\t".utf8)
      default: [byte]
      }
    }
  }

  private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var isEscape = false
    for byte in text {
      if isEscape {
        result.append(byte == UInt8(ascii: "n") ? 0x0a : byte == UInt8(ascii: "t") ? 0x09 : byte)
        isEscape = false
      } else if byte == 0x5c {
        isEscape = true
      } else {
        result.append(byte)
      }
    }
    return result
  }

  // MARK: - Writing

  /// Adds a record. It is in the file after the next ``flush()``.
  func add(_ record: TriageOrder.Record) {
    unwritten += Self.line(
      of: Record(path: record.job.path, isFound: record.job.isFound, result: record.result))
  }

  /// Writes the records that were added since the last call.
  func flush() throws {
    guard !unwritten.isEmpty else { return }
    try SystemCallError.check("write", path, SystemCalls.write(unwritten[...], to: descriptor))
    unwritten.removeAll(keepingCapacity: true)
  }

  /// Writes the added records and syncs the file, so that they survive a crash of the system.
  func synchronize() throws {
    try flush()
    try SystemCallError.check("fsync", path, SystemCalls.synchronize(descriptor))
  }
}

extension JSONEncoder {
  /// An encoder that sorts keys and does not escape slashes.
  static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
