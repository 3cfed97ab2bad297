import AgeFiles
import ArgumentParser
import CLibrary
import Foundation
import Quoting
import SafeFiles
import SafeText
import StoreExtraction
import StoreFiles
import StoreReport
import StoreTriage
import Terminal

struct TriageRun: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Read inputs, and write a line of JSON for each.",
    usage: "lifeboat triage [<options>] <path> ...",
    discussion: """
      Examples: lifeboat triage Inbox > inbox.ndjson
                find Inbox -name '*.zip' -print0 | lifeboat triage -0 - --journal inbox.journal > inbox.ndjson

      The lines are in the order of the inputs, and the same inputs give the same lines.

      Exit status: 0; 1 when an input is to be looked at or could not be read; 64 when the journal is of another \
      run; 75 when another run is writing to the journal.
      """)

  @Argument(
    help:
      "Bundles, archives, incidents, stores, and folders of them; - reads paths from standard input, one per line.",
    completion: .file())
  var paths: [String]

  @Flag(
    name: [.customShort("0"), .customLong("null")],
    help: "A zero byte, not a line end, ends each path on standard input.")
  var isNull = false

  @Flag(name: .long, help: "Write counts of equal cases instead of a line for each input.")
  var group = false

  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, html
  }

  @Option(
    name: .long,
    help: "The form of the counts (--group): text, or html for a page with plots; default: text.")
  var format: Format?

  @OptionGroup var page: PageOutput

  @Option(
    name: .customLong("by"),
    help:
      "What a group has in common: family (the same case), or signature (also the same build, models and SQLite version)."
  )
  var key: TriageGroups.Key = .family

  @Option(
    name: .long,
    help: "Write the lines into this catalogue (a SQLite file); read only new and changed inputs.",
    completion: .file())
  var catalog: String?

  @Option(
    name: .long,
    help: "Record finished inputs in this file; after a stop, the same command goes on from there.",
    completion: .file())
  var journal: String?

  @Option(name: .long, help: "How many processes read inputs; by default one for each core.")
  var workers: Int?

  @Option(name: .long, help: "The maximum number of seconds for one input.")
  var timeout = 60

  @Option(
    name: .customLong("max-memory"),
    help: "The maximum memory of each process, such as 500MB; by default 1GiB.")
  var maxMemory: ByteCount?

  @Flag(
    name: .long,
    help: "Count the rows that a recovery would save; this reads each damaged store once more.")
  var survey = false

  @Flag(
    name: .long,
    help: "Say in each line how many seconds its input took; two runs then give different lines.")
  var timing = false

  @Option(
    name: .long, help: "A folder of analysers (.json files) to use beside the built-in ones.",
    completion: .directory)
  var analysers: String?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The minimum value of --max-memory, in bytes. A worker cannot start with less memory.
  private static let minMemory: Int64 = 64 << 20

  func validate() throws {
    if paths.count(where: { PathText.isSame($0, "-") }) > 1 {
      throw ValidationError("Standard input (-) can be read only once.")
    }
    if let workers, !(1...256).contains(workers) {
      throw ValidationError("--workers takes a number from 1 to 256.")
    }
    guard (1...86_400).contains(timeout) else {
      throw ValidationError("--timeout takes seconds, from 1 to 86400.")
    }
    if let maxMemory, maxMemory.count < Self.minMemory {
      throw ValidationError("--max-memory takes 64MiB or more.")
    }
    guard format == nil || group else {
      throw ValidationError("--format is for counts: add --group.")
    }
    try page.validate(format == .html ? "html" : nil, among: "html", display)
    guard catalog == nil || journal == nil else {
      throw ValidationError(
        "--journal and --catalog cannot be used together: a catalogue itself records finished inputs."
      )
    }
    guard catalog == nil || !timing else {
      throw ValidationError(
        "--timing cannot be used with --catalog: a catalogue has no column for the seconds.")
    }
  }

  func run() throws {
    for output in [catalog, journal, page.output].compactMap(\.self) { try guardEvidence(output) }
    try page.checkFree()
    let setup = try setup()
    let folders = try WorkerFolders()
    let privateFolder = folders.path
    // While this object exists, SIGPIPE is ignored. Writing to a worker that has ended then fails with an ordinary
    // error. It exists before the catalogue is made, so that an interruption leaves no unfinished catalogue.
    let interruption = Interruption(lettingWorkEnd: true) { _ in
      try? FileManager.default.removeItem(atPath: privateFolder)
    }
    defer { folders.remove(privateFolder) }
    let catalog = try catalog.map {
      try Catalog($0, mayMake: true, made: interruption.files)
    }
    let journal = try journal.map { try TriageJournal($0, run: identity(of: setup)) }
    let output = TriageOutput(
      catalog: catalog, groups: group ? TriageGroups(by: key) : nil)
    let pool = try TriagePool(
      InputList(paths, endsInZero: isNull), setup, workers: workerCount, folders: folders,
      journal: journal, isInterrupted: interruption.requested, output)
    try withExtendedLifetime(interruption) {
      let isFinished = try pool.run()
      // The folder is removed here, because no worker needs it any more, and closing the output may end this process at
      // once.
      folders.remove(privateFolder)
      guard isFinished else { return waitForSignal() }
      try journal?.synchronize()
      try output.end()
    }
    if let report = output.groups?.report {
      if format == .html {
        try page.write(TriagePage(report).html(), display)
      } else if display.json {
        try display.write(json: report)
      } else {
        try display.write(GroupText(report: report, display: display).text)
      }
    }
    tell(output)
    if output.careCount > 0 { try display.exitWithFindings() }
  }

  private func tell(_ output: TriageOutput) {
    var text = Quantity.count(output.count, "input") + " read"
    if output.careCount > 0 { text += ", \(Quantity.count(output.careCount)) to be looked at" }
    if output.failedCount > 0 {
      text += ", \(Quantity.count(output.failedCount)) of them unreadable"
    }
    if output.takenUpCount > 0 {
      text += "; \(Quantity.count(output.takenUpCount)) taken from the journal"
    }
    if output.knownCount > 0 {
      text += "; \(Quantity.count(output.knownCount)) in the catalogue already"
    }
    display.note(text)
  }

  // MARK: - Setup

  private var workerCount: Int { workers ?? max(1, ProcessInfo.processInfo.activeProcessorCount) }

  private func setup() throws -> TriageSetup {
    var setup = TriageSetup()
    let keys = try secrets.bundle.secrets()
    setup.identities = keys.identities.map(\.text)
    setup.passphrase = keys.passphrase
    setup.key = try secrets.key()
    setup.options.surveys = survey
    setup.isTimed = timing
    setup.timeout = timeout
    setup.maxMemory = maxMemory?.count ?? setup.maxMemory
    if let analysers {
      setup.analysers = analysers
      // The analysers are read here, so that an error in them is reported before the long work begins.
      setup.analysersDigest = try Analysers.including(analysers).digest
    }
    return setup
  }

  /// Returns the strings that identify this run in a journal: the version of lifeboat, the options that affect the
  /// lines, and the inputs as given on the command line.
  private func identity(of setup: TriageSetup) throws -> [String] {
    var setup = setup
    setup.maxMemory = 0
    setup.timeout = 0
    // The journal contains a hash of these strings, from which a weak passphrase could be guessed. So the strings
    // contain only which kinds of keys were given, not the keys. A run with other keys can still use the journal's
    // records, because inputs that no key has opened are read again in each run.
    let lacks = [setup.identities.isEmpty, setup.passphrase == nil, setup.key == nil]
    setup.identities = []
    setup.passphrase = nil
    setup.key = nil
    let options = String(decoding: try JSONText.data(setup), as: UTF8.self)
    let keys = lacks.map { $0 ? "-" : "k" }.joined()
    return [Tool.version, options, keys, isNull ? "0" : "n"] + paths
  }

  /// Throws if the file `output` would become part of one of the inputs.
  private func guardEvidence(_ output: String) throws {
    try EvidenceGuard.checkIsNoSideFile(output)
    for path in paths where !PathText.isSame(path, "-") {
      let isFolder = FileStatus.found(path)?.kind == .folder
      if isFolder {
        try EvidenceGuard.check(output, outside: path)
      } else {
        try EvidenceGuard.check(output, against: path)
      }
    }
  }

  /// Waits for the signal that ends this process. The handler of ``Interruption`` sends the signal after it has removed
  /// the private folder.
  private func waitForSignal() { while true { pause() } }
}

/// Receives the results of a run, and writes the lines to standard output, counts them in groups, or adds them to a
/// catalogue.
final class TriageOutput {
  private let catalog: Catalog?
  private(set) var groups: TriageGroups?
  private let stream = StandardStream(descriptor: 1)
  private(set) var count = 0
  private(set) var careCount = 0
  private(set) var failedCount = 0
  private(set) var takenUpCount = 0
  private(set) var knownCount = 0
  private var lastWrite = DispatchTime.now()

  init(catalog: Catalog?, groups: TriageGroups?) {
    self.catalog = catalog
    self.groups = groups
  }

  /// Returns the identity that the files of an input had when the input was last read; nil when none is known.
  func known(_ path: [UInt8]) throws -> String? {
    guard let catalog else { return nil }
    return try PathBytes.text(path).flatMap { try catalog.identity(of: $0) }
  }

  /// Returns the stored line of an input whose files have not changed since the input was read. Nil when another run
  /// has removed the line from the catalogue.
  func line(_ path: [UInt8]) throws -> [UInt8]? {
    guard let catalog else { return nil }
    knownCount += 1
    return try PathBytes.text(path).flatMap { try catalog.line(of: $0) }
  }

  /// Receives each result, in the order of the list of inputs. `isTakenUp`: whether the result comes from the journal
  /// of an earlier run.
  func tell(_ record: TriageOrder.Record, _ isTakenUp: Bool) throws {
    switch record.result {
    case .line(let json, let identity): try tell(json, identity, isTakenUp)
    case .lines(let lines):
      try forget(record.job.path)
      for json in lines { try tell(json, nil, isTakenUp) }
    // The input has no line now, so an old line of the input is removed from the catalogue.
    case .nothing, .inputs: try forget(record.job.path)
    }
  }

  private func forget(_ path: [UInt8]) throws {
    try catalog?.remove(PathBytes.shown(path))
  }

  private func tell(_ json: [UInt8], _ identity: String?, _ isTakenUp: Bool) throws {
    count += 1
    if isTakenUp { takenUpCount += 1 }
    if catalog == nil, groups == nil { try stream.write(bytes: json + [0x0a]) }
    // Quotes inside JSON strings are escaped, so no string can contain these bytes.
    if json.firstRange(of: Self.healthy) == nil { careCount += 1 }
    if json.firstRange(of: Self.failed) != nil { failedCount += 1 }
    guard groups != nil || catalog != nil else { return }
    let line: TriageLine
    do { line = try TriageLine(json: json) } catch {
      // Lines from workers are valid, so an invalid line is from the catalogue.
      if let catalog { throw catalog.damaged }
      throw error
    }
    groups?.add(line)
    try catalog?.add(line, json, identity: identity)
  }

  private static let healthy = Array(#""verdict":"\#(TriageSignature.healthy)""#.utf8)
  private static let failed = Array(#""failed":{"code""#.utf8)

  /// Called repeatedly while the next result is not ready.
  func rest() throws {
    try stream.flush()
    // Each commit waits for the disk, so the catalogue commits at most once per second.
    guard DispatchTime.now().uptimeNanoseconds &- lastWrite.uptimeNanoseconds > 1_000_000_000 else {
      return
    }
    try catalog?.write()
    lastWrite = .now()
  }

  func end() throws {
    try stream.flush()
    try catalog?.write()
  }
}

extension TriageGroups.Key: ExpressibleByArgument {}
