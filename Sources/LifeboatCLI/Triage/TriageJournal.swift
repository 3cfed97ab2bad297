import CLibrary
import Foundation
import SafeFiles
import StoreFiles

/// A file to which a run appends the result of each input, in the order of the inputs. A later run with the same inputs
/// and options *takes up* the records: it uses the recorded results instead of reading the inputs again. When a record
/// is no longer valid, the file is truncated before this record.
///
/// The first line identifies the run. Each further line is the record of one input, with these parts:
///
/// - 16 hexadecimal digits, the beginning of the SHA-256 of all bytes after the first space
/// - a space
/// - a letter: `L` for a line, `M` for the lines of an archive with several stores, `N` for nothing, `E` for a folder
/// - `?` for an input that was found in a folder, else `=`
/// - the path, with line ends, tabs and backslashes escaped
/// - a tab
/// - the result; tabs separate the lines of an archive
///
/// If a line has a wrong hash, or has no line end because the run was killed, then this line and all lines after it are
/// ignored. An empty file counts as a journal whose first line was cut off.
final class TriageJournal {
  private struct Head: Codable, Equatable {
    var schema = "lifeboat.triageJournal"
    var version = 2
    /// The SHA-256 of the strings that identify the run: the version of lifeboat, the options that affect results, and
    /// the inputs as given on the command line.
    var run: String
  }

  /// The place of a record in the journal.
  struct Place {
    /// The offset of the record in the file, in bytes.
    let offset: Int64
    /// The number of records before this record. For these records, the results in the journal are used, so their
    /// inputs are not read again.
    let takenUp: Int
  }

  /// The result that the journal records for one input of a run.
  struct Record {
    let path: [UInt8]
    let isFound: Bool
    let result: TriageOrder.Result
  }

  /// The maximum number of times that locking the file is tried again. The process waits 50 ms before each attempt.
  private static let patience = 40

  private let path: String
  private let descriptor: Int32
  private var lines: RecordStream
  private var isReading = true
  private var unwritten: [UInt8] = []
  /// The number of records of an earlier run whose results this run uses instead of reading the inputs again.
  private(set) var takenUp = 0
  /// The place of the record that the last call of ``next()`` returned.
  private(set) var place = Place(offset: 0, takenUp: 0)

  /// Opens the journal at a path, or creates a new journal. `run` has the strings that identify this run (see
  /// `Head.run`). A journal that was made with other strings is refused.
  ///
  /// - Throws: a `Failure` when the file is not a journal, belongs to another run or is in use; a `SystemCallError`
  ///   when a system call fails.
  init(_ path: String, run: [String]) throws {
    self.path = path
    let made = SystemCalls.create(path, O_RDWR | O_NONBLOCK)
    let isNew = made >= 0
    descriptor = isNew ? made : SystemCalls.open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
    guard descriptor >= 0 else {
      throw SystemCallError(call: "open", path: path, errno: errno)
    }
    // No valid line is longer than the longest answer plus the longest path, so a longer line is damaged.
    lines = RecordStream(
      descriptor: descriptor, separator: 0x0a, limit: WorkerProcess.maxAnswerBytes + 1 << 20)
    guard FileStatus.found(descriptor)?.kind == .file else {
      throw Failure(
        73, "triage.noJournal", "\(path): not an ordinary file, so not a journal",
        hint: "name a new file for --journal")
    }
    // An earlier run may have been killed while it was starting a worker. The new process inherits the lock, and keeps
    // it until it calls exec, so the lock is tried again.
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
    let firstLine = Array(try JSONText.data(head)) + [0x0a]
    let line = lines.next()
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

  /// Whether the journal file ends before the end of its first line. It does if the file is new, or if the run was
  /// killed while it wrote this line.
  private func isCut(_ firstLine: [UInt8]) -> Bool {
    FileStatus.found(descriptor)?.sizeBytes == Int64(lines.buffer.count)
      && firstLine.starts(with: lines.buffer)
  }

  // MARK: - Going on

  /// Returns the next record of an earlier run. At the end of the file, or when the record is damaged, truncates the
  /// file after the previous record and returns nil.
  func next() throws -> Record? {
    guard isReading else { return nil }
    let before = lines.offset
    if let line = lines.next(), let record = Self.record(line) {
      place = Place(offset: before, takenUp: takenUp)
      takenUp += 1
      return record
    }
    try cut(at: before)
    return nil
  }

  /// Removes the record at `place` and all records after it from the file, because an input has changed. Does nothing
  /// if the record is removed already.
  func drop(from place: Place) throws {
    guard place.takenUp < takenUp else { return }
    takenUp = place.takenUp
    try cut(at: place.offset)
  }

  private func cut(at place: Int64) throws {
    isReading = false
    lines.buffer = []
    guard ftruncate(descriptor, off_t(place)) == 0, lseek(descriptor, off_t(place), SEEK_SET) >= 0
    else { throw SystemCallError(call: "ftruncate", path: path, errno: errno) }
  }

  // MARK: - Records

  /// The number of hexadecimal digits of the hash at the start of each line of the journal.
  private static let checkDigits = 16

  /// Returns the hash with which a line of the journal must begin. `rest` is the line without the hash and the space
  /// after it. A line that begins with another hash is damaged.
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

  private static func line(of record: TriageOrder.Record) -> [UInt8] {
    let (letter, rest): (UInt8, [UInt8]) =
      switch record.result {
      case .line(let json, _): (UInt8(ascii: "L"), json)
      case .lines(let lines): (UInt8(ascii: "M"), TriageAnswer.joined(lines))
      case .nothing: (UInt8(ascii: "N"), [])
      case .inputs: (UInt8(ascii: "E"), [])
      }
    let mark = record.job.isFound ? UInt8(ascii: "?") : UInt8(ascii: "=")
    let checked = [letter, mark] + escaped(record.job.path) + [0x09] + rest
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

  /// Queues a record of the journal. The next ``flush()`` writes it to the file.
  func add(_ record: TriageOrder.Record) {
    unwritten += Self.line(of: record)
  }

  /// Writes the records that are still in memory to the journal.
  func flush() throws {
    guard !unwritten.isEmpty else { return }
    try SystemCallError.check("write", path, SystemCalls.write(unwritten[...], to: descriptor))
    unwritten.removeAll(keepingCapacity: true)
  }

  /// Writes the queued records, and syncs the file so that the records survive a crash of the system.
  func synchronize() throws {
    try flush()
    try SystemCallError.check("fsync", path, SystemCalls.synchronize(descriptor))
  }
}
