import ArgumentParser
import StoreFiles
import SafeFiles
import Foundation
import SafeText
import StoreExtraction

/// The option that names the custody log.
struct CustodyOptions: ParsableArguments {
  @Option(
    name: .customLong("custody-log"),
    help: "Append a record of this run to a file: what it read and made, with hashes.",
    completion: .file())
  var log: String?
}

/// A command whose runs can be recorded in a custody log.
protocol RecordedCommand {
  var custody: CustodyOptions { get }
  /// The paths of the stores that the command reads, as they were given.
  var evidencePaths: [String] { get }
  /// The paths of the files or folders that the command makes.
  var outputPaths: [String] { get }
}

/// A custody log: a chain of records, one line of JSON for each run. Each line holds the SHA-256 of the line before, so
/// that a changed or removed line is detected.
struct CustodyLog {
  private let path: String
  private let command: any RecordedCommand
  private let started = Date()
  private let before: Evidence

  /// Hashes the evidence before a command runs; nil when no custody log is named.
  ///
  /// - Throws: a failure when the log is part of the evidence, or is a file that is not a custody log.
  init?(_ command: any RecordedCommand) throws {
    guard let path = command.custody.log else { return nil }
    self.path = path
    self.command = command
    for evidence in command.evidencePaths {
      try EvidenceGuard.check(path, againstAllAt: evidence)
    }
    guard !command.outputPaths.contains(where: { PathText.isSame($0, path) }),
      try Self.mayAppend(to: path)
    else {
      throw Failure(
        73, "custody.notALog",
        "\(path) is not a custody log; nothing was written to it",
        hint: "name a new file, or one that --custody-log made")
    }
    before = Self.evidence(at: command.evidencePaths)
  }

  /// Returns an argument of the command line as it is recorded. A secret key, which somebody may have put there by
  /// mistake, is replaced.
  private static func withoutSecret(_ argument: String) -> String {
    argument.uppercased().utf8.starts(with: "AGE-SECRET-KEY-".utf8) ? "(a secret key)" : argument
  }

  /// The hashes of the files that a command is given to read.
  fileprivate struct Evidence {
    /// The SHA-256 of each file, by the path of the store and then by the name of the file.
    var hashes: [String: [String: String]] = [:]
    /// Files that are or may be evidence and have no hash, because they could not be read to their end.
    var passedOver: [StoreFinder.PassedOver] = []
  }

  private struct Record: Encodable {
    struct Input: Encodable {
      let path: String
      let sha256Before: [String: String]
      let sha256After: [String: String]
    }

    let schema = "lifeboat.custody"
    let version = 1
    let tool = "lifeboat \(Tool.version)"
    let arguments: [String]
    let started: Date
    let ended: Date
    let host: String
    let user: String
    let inputs: [Input]
    /// Files that are or may be evidence and have no hash; nil when there are none.
    let passedOver: [StoreFinder.PassedOver]?
    let outputs: [String: String]
    let exitCode: Int32
    let previousSHA256: String?
  }

  /// Appends the record of a run that ended with `exitCode`. Runs that append at the same time wait for each other, so
  /// that each line holds the hash of the line before.
  func append(exitCode: Int32) throws {
    let after = Self.evidence(at: command.evidencePaths)
    let outputs = Self.outputHashes(of: command.outputPaths)
    let descriptor = SystemCalls.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw Failure(
        73, "custody.cannotOpen", "the custody log cannot be opened for appending, \(path)",
        hint: "check its folder and permissions; the run itself was completed")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let tail = try tail(of: handle)
    let last = tail.split(separator: 0x0a).last
    let record = Record(
      arguments: CommandLine.arguments.dropFirst().map(Self.withoutSecret), started: started,
      ended: Date(),
      host: ProcessInfo.processInfo.hostName, user: NSUserName(),
      inputs: before.hashes.keys.sorted().map {
        .init(
          path: $0, sha256Before: before.hashes[$0] ?? [:], sha256After: after.hashes[$0] ?? [:])
      },
      passedOver: after.passedOver.isEmpty ? nil : after.passedOver, outputs: outputs,
      exitCode: exitCode, previousSHA256: last.map { Digest.sha256(Array($0)) })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    // A last line that was cut off stays as it is; the record starts on a new line.
    let start = tail.isEmpty || tail.last == 0x0a ? Data() : Data([0x0a])
    try handle.write(contentsOf: start + (try encoder.encode(record)) + Data([0x0a]))
    try handle.synchronize()
  }

  /// Whether a log may be written to the path. It may if the path is free, if the file is empty and does not have the
  /// name of a side file, or if its first line is a record of a log. A mistyped name must not damage evidence.
  private static func mayAppend(to path: String) throws -> Bool {
    guard let status = try FileStatus.of(path) else { return true }
    guard status.kind == .file else { return false }
    guard status.sizeBytes > 0 else { return !EvidenceGuard.mayBeSideFile(path) }
    guard let handle = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? handle.close() }
    var start = Data()
    // The first line may be as long as any other line, so it is read to its end.
    while start.count <= CustodyVerify.maxBytes,
      let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty
    {
      start += piece
      if piece.contains(0x0a) { break }
    }
    guard let line = start.split(separator: 0x0a).first,
      let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any]
    else { return false }
    return object["schema"] as? String == "lifeboat.custody"
  }

  /// The end of the log, from the start of its last line or further back. If the last line is too long for `custody
  /// verify`, the result may begin within that line.
  private func tail(of handle: FileHandle) throws -> Data {
    let end = try handle.seekToEnd()
    var count: UInt64 = 1 << 20
    while true {
      try handle.seek(toOffset: end - min(end, count))
      let tail = try handle.readToEnd() ?? Data()
      // The bytes may begin within a line, so only a line that follows another one is sure to be complete.
      if count >= min(end, UInt64(CustodyVerify.maxBytes) + 2)
        || tail.split(separator: 0x0a).count > 1
      {
        return tail
      }
      count *= 2
    }
  }

  private static func evidence(at paths: [String]) -> Evidence {
    var all = Evidence()
    for path in paths {
      if StoreInput.isArchive(path) {
        all.add(file: path)
        continue
      }
      do {
        let found = try StoreFinder.find(at: path, taking: .archives)
        for store in found.stores { all.add(store) }
        for archive in found.taken { all.add(file: archive) }
        // A file without its header, and a log without its main file, are evidence too.
        for other in found.passedOver where !all.add(other.path) { all.passedOver.append(other) }
      } catch {
        all.pass(over: path, error)
      }
    }
    return all
  }

  private static func outputHashes(of paths: [String]) -> [String: String] {
    var all: [String: String] = [:]
    for path in paths {
      if let hash = try? StoreSeal.sha256(ofFile: path) { all[path] = hash }
      // Neither the hash nor the enumerator follows links.
      guard let inside = FileManager.default.enumerator(atPath: path) else { continue }
      for case let name as String in inside {
        let file = PathText.joined(path, name)
        if let hash = try? StoreSeal.sha256(ofFile: file) { all[file] = hash }
      }
    }
    return all
  }
}

extension CustodyLog.Evidence {
  /// Adds the hashes of all files of the store set at a path. Returns false when none of them can be read.
  @discardableResult fileprivate mutating func add(_ store: String) -> Bool {
    for member in StoreSet(at: store).members where member.kind == .file {
      do {
        hashes[store, default: [:]][member.name] = try StoreSeal.sha256(ofFile: member.path)
      } catch {
        pass(over: member.path, error)
      }
    }
    return hashes[store] != nil
  }

  /// Adds the hash of an archive.
  fileprivate mutating func add(file path: String) {
    do {
      hashes[path] = [PathText.lastComponent(of: path): try StoreSeal.sha256(ofFile: path)]
    } catch {
      pass(over: path, error)
    }
  }

  fileprivate mutating func pass(over path: String, _ error: any Error) {
    let failure = Failure(error) ?? Failure(foreign: error)
    passedOver.append(
      .init(
        path: path, code: failure?.code ?? "file.io",
        message: failure?.message ?? "the file cannot be read"))
  }
}
