import ArgumentParser
import Foundation
import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles
import Terminal

struct Custody: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a custody log.",
    discussion: """
      A custody log has a line for each run of a command with --custody-log: what the run read and made, with hashes.
      """,
    subcommands: [CustodyVerify.self])
}

struct CustodyVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract:
      "Check that no line of a custody log was changed or removed, and that the outputs are unchanged.",
    discussion: """
      Example: lifeboat custody verify case-12.ndjson

      Each line holds the SHA-256 of the line before it. Lines that are removed from the end leave no trace. The \
      command prints the hash of the last line: keep it in another place.

      Exit status: 0 when the log is whole; 1 when lines, evidence or outputs were changed; 65 when the file is not a \
      custody log; 66 when it is missing.
      """)

  @Argument(help: "The custody log.", completion: .file())
  var path: String

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Problem: Encodable {
    /// The number of the line in the custody log, from 1.
    let line: Int
    let id: String
    let message: String
  }

  struct Report: Encodable {
    let schema = "lifeboat.custodyVerification"
    let version = 1
    let path: String
    let lineCount: Int
    /// The SHA-256 of the last line of the custody log, in hexadecimal.
    let lastSHA256: String?
    /// The paths of outputs that are no longer where the commands made them. They may have been moved.
    let absentOutputs: [String]
    let problems: [Problem]
  }

  /// The part of a record in the custody log that is verified.
  private struct Record: Decodable {
    let schema: String
    let outputs: [String: String]?
    let inputs: [CustodyLog.Input]?
    let previousSHA256: String?
  }

  /// The maximum length of a line of the log, in bytes.
  static let maxBytes = 64 << 20

  func run() throws {
    var count = 0
    var last: String?
    var problems: [Problem] = []
    var outputs: [String: (hash: String, line: Int)] = [:]
    func note(_ id: String, _ message: String) {
      problems.append(Problem(line: count, id: id, message: message))
    }
    try forEachLine { line in
      count += 1
      defer { last = Digest.sha256(line) }
      guard let record = try? JSONDecoder().decode(Record.self, from: Data(line)),
        record.schema == "lifeboat.custody"
      else {
        guard count > 1 else {
          throw Failure(
            65, "custody.notALog", "\(path) is not a custody log",
            hint: "name the file that --custody-log has written")
        }
        note(
          "custody.badLine",
          "the line is not a record; perhaps a run was stopped while it wrote the line")
        return
      }
      if record.previousSHA256 != last {
        note(
          "custody.brokenChain",
          last == nil
            ? "the log began with other lines, which were removed"
            : "the line before this one was changed, removed or added: its hash differs from the hash that this line records"
        )
      }
      for input in record.inputs ?? [] where input.sha256Before != input.sha256After {
        note("custody.evidenceChanged", "the evidence changed during the run, \(input.path)")
      }
      for (path, hash) in record.outputs ?? [:] { outputs[path] = (hash, count) }
    }
    guard count > 0 else { throw Failure(65, "custody.notALog", "\(path) is empty") }
    var absent: [String] = []
    for (path, made) in outputs.sorted(by: { $0.key < $1.key }) {
      if let hash = try? StoreSeal.sha256(ofFile: path) {
        if hash != made.hash {
          problems.append(
            Problem(
              line: made.line, id: "custody.outputChanged",
              message: "the output was changed or replaced after it was made, \(path)"))
        }
      } else if FileStatus.found(path) == nil {
        absent.append(path)
      } else {
        problems.append(
          Problem(
            line: made.line, id: "custody.outputUnread",
            message: "the output cannot be read as an ordinary file, \(path)"))
      }
    }
    try report(count, last, absent, problems)
  }

  private func report(
    _ count: Int, _ last: String?, _ absent: [String], _ problems: [Problem]
  ) throws {
    if display.json {
      try display.write(
        json: Report(
          path: path, lineCount: count, lastSHA256: last, absentOutputs: absent, problems: problems)
      )
    } else {
      for problem in problems {
        try display.write(
          "line \(problem.line): \(VisibleText.visible(problem.message)) (\(problem.id))\n")
      }
      for path in absent {
        display.note("the output is no longer where it was made, \(path)")
      }
      if !display.quiet {
        try display.write(
          problems.isEmpty
            ? "whole: \(Quantity.count(count, "line")); the last one has the SHA-256 \(last ?? "")\n"
            : "CHECK FAILED: see the lines above\n")
      }
    }
    if !problems.isEmpty { try display.exitWithFindings() }
  }

  /// Calls `body` with each line of the log, without its line feed. Empty lines are left out.
  private func forEachLine(_ body: ([UInt8]) throws -> Void) throws {
    let file = try ByteFile(path)
    var waiting: [UInt8] = []
    var offset: Int64 = 0
    while offset < file.size {
      let piece = try file.bytes(at: offset, count: Int(min(file.size - offset, 1 << 20)))
      guard !piece.isEmpty else { break }
      offset += Int64(piece.count)
      waiting += piece
      var start = 0
      while let end = waiting[start...].firstIndex(of: 0x0a) {
        if end > start { try body(Array(waiting[start..<end])) }
        start = end + 1
      }
      waiting.removeFirst(start)
      guard waiting.count <= Self.maxBytes else {
        throw Failure(65, "custody.notALog", "\(path) has a line of more than 64 MiB")
      }
    }
    if !waiting.isEmpty { try body(waiting) }
  }
}
