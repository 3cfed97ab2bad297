import CLibrary
import StoreFiles
import Foundation
import ObjectModel
import SafeText
import StoreRecovery

/// A host app in a process of its own, for the tests to stop, kill and starve:
/// `RecoveryChild COMMAND STORE [option=value …]`. What it says goes to standard output, one line for each
/// thing.
@main
enum RecoveryChild {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3 else {
      return say("usage: RecoveryChild COMMAND STORE [option=value]")
    }
    var options: [String: String] = [:]
    for one in arguments.dropFirst(3) {
      let parts = one.split(separator: "=", maxSplits: 1).map(String.init)
      options[parts[0]] = parts.count > 1 ? parts[1] : ""
    }
    let steps = Steps(options)
    let child = Host(store: arguments[2], options: options, steps: steps)
    if options["alarm"] != nil { Starvation.interruptCalls() }
    if let extra = options["files"].flatMap({ Int($0) }) { Starvation.limitFiles(extra: extra) }
    do {
      switch arguments[1] {
      case "open": try child.open()
      case "restore": try child.restore()
      case "prune": try child.prune()
      case "heal": try child.heal()
      case "hold": try child.hold()
      default: say("no such command")
      }
    } catch let error as StoreRecoveryError {
      say("error \(error.code.rawValue) \(error) \(steps.notes)")
    } catch {
      say("error \(error) \(steps.notes)")
    }
    if options["count"] != nil { say("steps \(steps.names)") }
    steps.finish()
  }

  static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}

/// The app: it knows the stores that it has made itself, and refuses those of another version.
struct Host {
  let store: String
  let options: [String: String]
  let steps: Steps

  struct OldStore: Error {}
  struct FreshFails: Error {}

  private var recovery: Recovery {
    var policy = Policy()
    policy.sqliteCode = { ($0 as? SQLiteError)?.code }
    policy.report = { event in
      switch event {
      case .judged(let verdict): steps.note("\(verdict.action) by \(verdict.rule.rawValue)")
      case .setAsideFailed(let error): steps.note("not set aside: \(error)")
      default: break
      }
    }
    if let bytes = options["space"].flatMap({ Int64($0) }) { policy.minimumFreeBytes = bytes }
    if let pace = options["pace"]?.split(separator: ",").compactMap({ Int64($0) }), pace.count == 2
    {
      policy.sealPace = SealPace(bytesPerLaunch: pace[0], bytesPerNote: pace[1])
    }
    if let wait = options["wait"].flatMap({ Double($0) }) { policy.maximumWaitSeconds = wait }
    return Recovery(
      URL(fileURLWithPath: store), app: .init(name: "Done", version: "2.1"), policy: policy,
      structure: { _, evidence in
        evidence.recordedHashes = Self.hashes(0xaa)
        evidence.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
      }, fileSystem: steps.fileSystem, isCancelled: steps.chunk)
  }

  private static func hashes(_ byte: UInt8) -> [String: VersionHash] {
    let hash = VersionHash(bytes: [UInt8](repeating: byte, count: 32))
    return hash.map { ["Task": $0] } ?? [:]
  }

  /// One launch. A store that opened gets a row, so that it shows whether it was lost.
  func open() throws {
    if let barrier = options["barrier"] {
      RecoveryChild.say("ready")
      Starvation.waitAt(barrier)
    }
    let opened = try recovery.openSynchronously(
      expecting: ExpectedModel(name: "Model 2", hashes: Self.hashes(0xcc))
    ) { url in
      let database = try AppDatabase(url.path)
      if options["fresh"] == "fails", !database.isOld {
        try database.insert("half")
        throw FreshFails()
      }
      if database.isOld { throw OldStore() }
      return database
    }
    if let row = options["row"] { try opened.handle.insert(row) }
    RecoveryChild.say("open \(opened.incident?.id ?? "-")")
  }

  func restore() throws {
    let home = PathText.folder(of: store)
    let result = try Incidents(in: home, fileSystem: steps.fileSystem)
      .restore(options["id"] ?? "", force: options["force"] != nil)
    RecoveryChild.say("restored \(result.restored.count)")
  }

  func prune() throws {
    let incidents = Incidents(in: PathText.folder(of: store), fileSystem: steps.fileSystem)
    let report = try incidents.prune(Retention(maximumCount: 0), dryRun: false)
    RecoveryChild.say("pruned \(report.removed.count)")
  }

  /// Two launches of an app that takes whatever is there: the first ends what an earlier run left, and the
  /// second has nothing to do.
  func heal() throws {
    for _ in 1...2 {
      let before = steps.count
      _ = try recovery.openSynchronously { _ in true }
      RecoveryChild.say("launch \(steps.count - before)")
    }
  }

  /// Holds the store open, as another app does, and obeys lines on standard input.
  func hold() throws {
    let database = try AppDatabase(store, journal: options["journal"] ?? "WAL")
    switch options["state"] {
    case "transaction": try database.run("BEGIN IMMEDIATE")
    default: _ = try database.number("SELECT count(*) FROM ZTASK")
    }
    RecoveryChild.say("ready")
    while let line = readLine() {
      if line == "quit" { break }
      do {
        try database.run("INSERT INTO ZTASK(T) VALUES('\(line)')")
        RecoveryChild.say("written")
      } catch { RecoveryChild.say("error \(error)") }
    }
  }
}
