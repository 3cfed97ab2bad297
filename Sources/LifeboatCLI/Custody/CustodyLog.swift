import ArgumentParser
import StoreFiles
import SafeFiles
import Foundation
import SafeText
import StoreExtraction
import SupportBundle

struct CustodyOptions: ParsableArguments {
  @Option(
    name: .customLong("custody-log"),
    help: "Append a record of this run to this file: what the run read and made, with hashes.",
    completion: .file())
  var log: String?
}

/// A command that can record its runs in a custody log.
protocol RecordedCommand {
  var custody: CustodyOptions { get }
  /// The paths of the stores that the command reads, as the user gave them.
  var evidencePaths: [String] { get }
  /// The paths of the files or folders that the command makes; empty by default.
  var outputPaths: [String] { get }
}

extension RecordedCommand {
  var outputPaths: [String] { [] }
}

/// A custody log, which has one line of JSON for each run of a command. Each line holds the SHA-256 of the line before
/// it, so that a changed or removed line is detected.
struct CustodyLog {
  private let path: String
  private let command: any RecordedCommand
  private let started = Date()
  /// Makes the process ignore SIGPIPE while this object exists. Otherwise a run whose output is closed early would not
  /// be recorded.
  private let interruption: Interruption
  private let before: Evidence
  /// The paths of the outputs that existed before the run. The run cannot have made them.
  private let present: Set<String>

  /// Starts the record of a run: hashes the evidence before the command reads it. Nil if `--custody-log` is not given.
  ///
  /// - Throws: a failure when the log would be part of the evidence, or when its path is that of a file that is not a
  ///   custody log.
  init?(_ command: any RecordedCommand) throws {
    guard let path = command.custody.log else { return nil }
    self.path = path
    self.command = command
    interruption = Interruption()
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
    present = Set(
      command.outputPaths.filter { path in
        // A run may fill a folder that exists and is empty.
        FileStatus.found(path) != nil
          && (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty != true
      })
  }

  /// Returns `argument` as the log records it. An argument that contains a secret key, perhaps by mistake, is replaced,
  /// so that the key does not get into the log.
  private static func withoutSecret(_ argument: String) -> String {
    // In `--to=AGE-SECRET-KEY-1…` the key is not at the start of the argument.
    argument.uppercased().utf8.firstRange(of: "AGE-SECRET-KEY-".utf8) == nil
      ? argument : "(a secret key)"
  }

  /// The SHA-256 hashes of the files that a command reads, for the custody log.
  private struct Evidence {
    /// The SHA-256 of each file, keyed by the path of the store and then by the name of the file.
    var hashes: [String: [String: String]] = [:]
    /// Files that may be evidence but were not hashed, because they could not be read to the end.
    var passedOver: [StoreFinder.PassedOver] = []

    /// Adds the SHA-256 of each file of the store set at the path `store`. Returns false if the store set contains no
    /// ordinary file.
    mutating func add(_ store: String) -> Bool {
      let files = StoreSet(at: store).members.filter { $0.kind == .file }
      for member in files {
        do {
          hashes[store, default: [:]][member.name] = try StoreSeal.sha256(ofFile: member.path)
        } catch {
          pass(over: member.path, error)
        }
      }
      return !files.isEmpty
    }

    mutating func add(file path: String) {
      do {
        hashes[path] = [PathText.lastComponent(of: path): try StoreSeal.sha256(ofFile: path)]
      } catch {
        pass(over: path, error)
      }
    }

    mutating func pass(over path: String, _ error: any Error) {
      let failure = Failure(error)
      passedOver.append(
        .init(
          path: path, code: failure?.code ?? "file.io",
          message: failure?.message ?? "the file cannot be read"))
    }
  }

  /// What a record says about a store that the run read: the hashes of its files, keyed by their names.
  struct Input: Codable {
    let path: String
    let sha256Before: [String: String]
    let sha256After: [String: String]
    /// The path of the store's main file after the run has moved the store; nil if the store was not moved.
    let movedTo: String?
  }

  private struct Record: Encodable {
    let schema = "lifeboat.custody"
    let version = 1
    let tool = "lifeboat \(Tool.version)"
    let arguments: [String]
    let started: Date
    let ended: Date
    let host: String
    let user: String
    let inputs: [Input]
    /// Files that are or may be evidence, but were not hashed; nil if every file was hashed.
    let passedOver: [StoreFinder.PassedOver]?
    let outputs: [String: String]
    let exitCode: Int32
    let previousSHA256: String?
  }

  /// Appends the record of the run, which ended with `exitCode`. Runs that append to the same log wait for each other,
  /// so that each line holds the hash of the line before it.
  func append(exitCode: Int32) throws {
    defer { withExtendedLifetime(interruption) {} }
    let trace = RunTrace.shared
    // A store that the run has moved is hashed where it is now.
    let after = Self.evidence(at: command.evidencePaths.map { trace.place(of: $0) })
    let outputs = Self.outputHashes(
      of: command.outputPaths.filter { !present.contains($0) } + trace.madePaths)
    let descriptor = SystemCalls.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw Failure(
        73, "custody.cannotOpen", "the custody log cannot be opened for appending, \(path)",
        hint: "the run was completed, but has no record; check the permissions of the log and of "
          + "its folder")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let tail = try tail(of: handle)
    let last = tail.split(separator: 0x0a).last
    let record = Record(
      arguments: CommandLine.arguments.dropFirst().map(Self.withoutSecret), started: started,
      ended: Date(),
      host: ProcessInfo.processInfo.hostName, user: NSUserName(),
      inputs: before.hashes.keys.sorted().map { path in
        let place = trace.place(of: path)
        return Input(
          path: path, sha256Before: before.hashes[path] ?? [:],
          sha256After: after.hashes[place] ?? [:],
          movedTo: PathText.isSame(place, path) ? nil : place)
      },
      passedOver: after.passedOver.isEmpty ? nil : after.passedOver, outputs: outputs,
      exitCode: exitCode, previousSHA256: last.map { Digest.sha256(Array($0)) })
    // If the last line was cut off, it stays as it is, and the record starts on a new line.
    let start = tail.isEmpty || tail.last == 0x0a ? Data() : Data([0x0a])
    try handle.write(contentsOf: start + (try JSONText.data(record)) + Data([0x0a]))
    try handle.synchronize()
  }

  /// Whether the run may append to the file at `path`. The file must be missing, or begin with a record of a custody
  /// log. An empty file is accepted too, unless its name ends with `-wal` or `-journal`. So a mistyped path cannot
  /// damage evidence.
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

  /// Returns the end of the custody log: the last line, and possibly bytes before it. If the line is too long for
  /// `custody verify`, the result may be only the end of the line.
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
      if let archive = StoreInput.isArchive(path) ? path : UnpackedArchive.split(path)?.archive {
        all.add(file: archive)
        continue
      }
      do {
        if let (folder, name) = PhoneBackup.split(path), let name {
          let files = try PhoneBackup(folder).store(named: name)?.members ?? []
          for file in files { all.add(file: file.place) }
          if !files.isEmpty { continue }
        }
        let found = try StoreFinder.find(at: path, taking: .archives)
        for store in found.stores where !all.add(store) {
          all.passedOver.append(
            .init(
              path: store, code: "file.missing", message: "there is no ordinary file at this path"))
        }
        for archive in found.taken { all.add(file: archive) }
        // A store without its header, and a log without its main file, are evidence, too.
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
      // Neither the hashing nor the enumerator follows symbolic links.
      guard let inside = FileManager.default.enumerator(atPath: path) else { continue }
      for case let name as String in inside {
        let file = PathText.joined(path, name)
        if let hash = try? StoreSeal.sha256(ofFile: file) { all[file] = hash }
      }
    }
    return all
  }
}
