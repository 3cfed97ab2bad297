import ArgumentParser
import CoreDataStore
import ObjectModel
import SafeText
import Terminal

struct ModelHash: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hash",
    abstract: "Compute the version hashes of a model's entities.",
    discussion: """
      Example: lifeboat model hash Notes.xcdatamodeld

      A hash is shown as unknown (null in JSON), never guessed, if real stores do not confirm how Core Data \
      computes it. Hashes are shortened in text; -v and --json show them in full.
      """)

  @Argument(help: "A model, a folder that holds models, or a store.", completion: .file())
  var path: String

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    struct Version: Encodable {
      let name: String
      let hashes: [String: String?]
      let checksum: String?
      let digest: String?
      let recorded: Recorded?
      let problem: String?
    }

    struct Recorded: Encodable {
      let hashes: [String: String]
      let checksum: String?
      let digest: String?

      init(_ recorded: RecordedHashes) {
        hashes = recorded.hashes.mapValues(\.hex)
        (checksum, digest) = (recorded.checksum, recorded.digest)
      }
    }

    let schema = "lifeboat.modelHash"
    let version = 1
    let versions: [Version]
    let recorded: Recorded?
  }

  func run() throws {
    let input = try ModelInput(path, secrets)
    let versions = input.versions.map { version in
      let hashes = version.hashes
      var shown = (hashes?.hashes ?? [:]).mapValues { Optional($0.hex) }
      for name in (hashes?.unknown ?? [:]).keys { shown[name] = .some(nil) }
      return Report.Version(
        name: version.name, hashes: shown, checksum: hashes?.checksum, digest: hashes?.digest,
        recorded: version.recorded.map(Report.Recorded.init),
        problem: version.problem?.message)
    }
    let recorded = input.store?.recorded.map(Report.Recorded.init)
    let unread = try Self.unread(input)
    for version in unread {
      let reason = version.problem?.message ?? "the model of this version is missing"
      display.note("note: not read: \(VisibleText.visible("\(version.path): \(reason)"))")
    }
    try display.write(
      json: Report(versions: versions, recorded: recorded), orText: text(versions, recorded),
      evenIfQuiet: true)
    try display.tell(passedOver: input.passedOver)
    if !unread.isEmpty { try display.exitWithFindings() }
  }

  /// Returns the model versions that could not be read. The result is empty when the input is a store with recorded
  /// hashes.
  ///
  /// - Throws: ``Failure`` when no hash can be shown.
  private static func unread(_ input: ModelInput) throws -> [ModelCollection.Version] {
    if let recorded = input.store?.recorded, !recorded.hashes.isEmpty { return [] }
    let silent = input.versions.filter { version in
      version.hashes == nil && (version.recorded?.hashes.isEmpty ?? true)
    }
    if silent.count == input.versions.count, let first = silent.first {
      guard input.stores.isEmpty else {
        throw Failure(
          65, "coredata.noHashes",
          "\(input.path): the store records no version hashes and carries no model")
      }
      let problem = first.problem ?? ModelError(code: .notAModel, message: "There is no model.")
      throw Failure(
        65, problem.code.rawValue,
        silent.count == 1
          ? "\(first.path): \(problem.message)"
          : "\(input.path): none of the \(Quantity.count(silent.count)) versions could be read; "
            + "the error of \(first.name) is: \(problem.message)",
        hint: "name an .xcdatamodeld, .xcdatamodel, .momd, .mom or VersionInfo.plist")
    }
    // A model that cannot be read is reported even if the bundle records the version hashes of the model.
    return input.versions.filter { version in
      silent.contains { $0.path == version.path && $0.name == version.name }
        || (version.problem.map { $0.code != .missingVersion } ?? false)
    }
  }

  private func text(_ versions: [Report.Version], _ recorded: Report.Recorded?) -> String {
    var text = ""
    for version in versions {
      text += display.style.apply(VisibleText.visible(version.name), .bold) + "\n"
      if let problem = version.problem { text += "  not read: \(VisibleText.visible(problem))\n" }
      let stored = version.recorded?.hashes ?? recorded?.hashes ?? [:]
      if version.problem == nil || !stored.isEmpty {
        text += table(version.hashes, stored, isRead: version.problem == nil)
      }
      if let checksum = version.checksum { text += "checksum \(checksum)\n" }
      if let digest = version.digest { text += "digest \(digest)\n" }
      text += "\n"
    }
    return text
  }

  /// A table of the computed hashes beside the recorded ones. If `isRead` is false, the model could not be read, and
  /// the table has only the recorded hashes.
  private func table(_ hashes: [String: String?], _ stored: [String: String], isRead: Bool)
    -> String
  {
    let isComputed = !hashes.isEmpty || (isRead && stored.isEmpty)
    var table = TextTable([
      .init("Entity", isFlexible: true), .init(isComputed ? "Version hash" : "Recorded hash"),
      .init(isComputed ? "Recorded" : ""),
    ])
    func short(_ hash: String) -> String {
      display.verbose > 0 ? hash : String(hash.prefix(32)) + "…"
    }
    guard isComputed else {
      for (name, hash) in stored.sorted(by: { $0.key < $1.key }) {
        table.add([name, short(hash), ""])
      }
      return table.text(width: display.width, style: display.style)
    }
    for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) {
      var agrees = ""
      if let hash, !stored.isEmpty {
        agrees = stored[name] == nil ? "not recorded" : stored[name] == hash ? "same" : "DIFFERS"
      }
      table.add([name, hash.map(short) ?? "unknown: cannot be computed with certainty", agrees])
    }
    return table.text(width: display.width, style: display.style)
  }
}
