import SafeFiles
import StoreFiles
import Foundation
import ObjectModel
import SafeText

extension Incident {
  /// What support needs to know about this incident, in English: verdict, summary of the evidence, codes, and sizes and
  /// hashes of store and model. The text names files and entities, but contains no rows, no paths and no error
  /// messages.
  public var supportText: String {
    var text = SupportText()
    switch kind {
    case .setAside: text.add("Incident", id)
    case .replaced: text.add("Incident", id + ", replaced by an earlier store")
    case .copied: text.add("Incident", id + ", a copy of a store that stayed in use")
    case .returned: text.add("Incident", id + ", a store that support sent back")
    }
    text.add(kind == .copied ? "Copied" : "Set aside", Timestamp.text(created))
    text.add("App", app.words)
    text.add("Store", storeName)
    text.add(verdict, evidence)
    if let seal { text.add(seal) }
    text.add("Lifeboat", toolVersion)
    return text.text
  }
}

extension Verdict {
  /// What support needs to know about a failed open that moved nothing, in English; for an incident see
  /// ``Incident/supportText``.
  package func supportText(evidence: StoreEvidence?, app: Recovery.App) -> String {
    var text = SupportText()
    text.add("App", app.words)
    text.add(self, evidence)
    text.add("Lifeboat", Tool.version)
    return text.text
  }
}

extension Verdict {
  /// The lines of the support text. Each line is a name with one value or a list of values.
  package func supportLines(_ evidence: StoreEvidence) -> [(
    name: String, parts: [String], isList: Bool
  )] {
    var text = SupportText()
    text.add(self, evidence)
    return text.lines
  }
}

/// The lines of a support text. Each line is a name with one value or a list of values.
struct SupportText {
  /// The maximum number of lines of a list. For a longer list, one more line says how many were left out.
  static let listLimit = 24

  private(set) var lines: [(name: String, parts: [String], isList: Bool)] = []

  var text: String {
    lines.map { line in
      line.isList
        ? "\(line.name):\n" + line.parts.map { "  \($0)\n" }.joined()
        : "\(line.name): \(line.parts[0])\n"
    }.joined()
  }

  mutating func add(_ name: String, _ value: String?) {
    guard let value, !value.isEmpty else { return }
    lines.append((name, [VisibleText.visible(value)], false))
  }

  mutating func add(_ name: String, list: [String]) {
    guard !list.isEmpty else { return }
    var parts = list.prefix(Self.listLimit).map(VisibleText.visible)
    let rest = list.count - Self.listLimit
    if rest > 0 { parts.append("and \(rest) more") }
    lines.append((name, parts, true))
  }

  // MARK: Verdict and evidence

  mutating func add(_ verdict: Verdict, _ evidence: StoreEvidence?) {
    add("Verdict", "\(verdict.finding.rawValue), \(verdict.action.rawValue)")
    add("Rule", verdict.rule.rawValue)
    add("Reason", verdict.reason)
    if let evidence { add(evidence) }
  }

  private mutating func add(_ evidence: StoreEvidence) {
    if let failure = evidence.failure { add(failure) }
    add("Main file", mainFile(evidence))
    add("Header", evidence.header.map(header))
    add("Log", evidence.wal.map(log))
    add("Structure", evidence.structure.map(structure))
    add(
      "Members",
      list: evidence.members.map {
        "\($0.name): \($0.kind.rawValue), \($0.role.rawValue), \(counted($0.sizeBytes, "byte"))"
      })
    add("Environment", surroundings(evidence))
    add("Strays", list: evidence.strays)
    add("Newest rows", evidence.silentLossSentence)
    add("Earlier quarantines", evidence.repetition.map(repetition))
    add("Trials", evidence.trial.map(trial))
    addModel(evidence)
  }

  private mutating func add(_ failure: StoreEvidence.Failure) {
    add("Error", failure.chain.map { "\($0.domain) \($0.code)" }.joined(separator: " > "))
    add("The app says", failure.meaning?.rawValue)
    let codes = [
      failure.sqliteCode.map { "SQLite \($0)" }, failure.cocoaCode.map { "Cocoa \($0)" },
      failure.posixCode.map { "POSIX \($0)" },
      failure.blamesSchema ? "the error's text blames the schema" : nil,
    ]
    add("Codes", codes.compactMap(\.self).joined(separator: ", "))
  }

  private func mainFile(_ evidence: StoreEvidence) -> String {
    var parts = [evidence.mainKind?.rawValue ?? "missing"]
    if let size = evidence.mainSizeBytes { parts.append(counted(size, "byte")) }
    if let code = evidence.openErrno {
      parts.append(code == 0 ? "can be read" : "cannot be read (errno \(code))")
    }
    if evidence.looksEncrypted == true { parts.append("looks encrypted") }
    if !evidence.folderExists { parts.append("its folder is missing") }
    return parts.joined(separator: ", ")
  }

  private func header(_ header: StoreEvidence.Header) -> String {
    guard header.isMagicRight else { return "not that of SQLite" }
    let parts = [
      header.pageSize.map { "page size \($0)" },
      header.pageCount.map { counted($0, "page") },
      header.changeCounter.map { "change counter \($0)" },
      header.schemaFormat.map { "schema format \($0)" },
      header.readVersion.map { "read version \($0)" },
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private func log(_ log: StoreEvidence.WAL) -> String {
    let parts = [
      counted(log.sizeBytes, "byte"),
      log.isHeaderSound.map { $0 ? "header sound" : "header damaged" },
      log.committedFrames.map { counted($0, "committed frame") },
      log.lostFrames.map { counted($0, "page") + " that SQLite would drop" },
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private func structure(_ structure: StoreEvidence.Structure) -> String {
    var parts = [
      structure.findingCount == 0
        ? "no damage found" : counted(structure.findingCount, "damaged place")
    ]
    if !structure.isComplete { parts.append("not read to the end") }
    if structure.isUnopenable { parts.append("no program can open the file") }
    parts += structure.findings.prefix(Self.listLimit)
    return parts.joined(separator: ", ")
  }

  private func surroundings(_ evidence: StoreEvidence) -> String {
    let host = evidence.host
    let parts = [
      evidence.freeBytes.map { counted($0, "byte") + " free" },
      evidence.isUsedElsewhere.map {
        $0
          ? "another process holds a lock" + (evidence.lockHolder.map { " (\($0))" } ?? "")
          : "no lock seen"
      },
      host.isExtension == true ? "extension" : nil,
      host.isInBackground == true ? "in the background" : nil,
      host.isProtectedDataAvailable == false ? "device locked" : nil,
      host.ownsStore == false ? "other processes may use the store" : nil,
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private func repetition(_ repetition: StoreEvidence.Repetition) -> String {
    guard repetition.isKnown else { return "not known" }
    return "by this build, \(repetition.all) in all, \(repetition.same) for this failure"
  }

  private func trial(_ trial: StoreEvidence.Trial) -> String {
    let copy =
      switch trial.copy {
      case .opened: "a private copy opened"
      case .failed: "a private copy failed, too"
      case .unavailable:
        "a lock, lack of space or a missing permission kept a private copy from opening"
      case .skipped: "no private copy was made: the store is too large, or too little space is free"
      case nil: "no private copy was made"
      }
    let code = trial.freshCode.map { " (error \($0))" } ?? ""
    let fresh = trial.makesFreshStore.map {
      $0 ? "a fresh store can be made" : "no fresh store can be made\(code)"
    }
    return [fresh, copy].compactMap(\.self).joined(separator: "; ")
  }

  // MARK: Both sides

  private mutating func addModel(_ evidence: StoreEvidence) {
    add("Store UUID", evidence.storeUUID)
    add("Framework", evidence.frameworkVersion.map { "\($0)" })
    guard evidence.expectsModel || evidence.recordedHashes != nil else { return }
    add("Written by", evidence.writtenBy ?? "an unknown model version")
    if evidence.expectsModel {
      add("Expected", evidence.expectedVersion ?? "a model without a name")
    }
    if evidence.sharesEntities == false {
      add("Entities in common", "none, compared with all known versions of the app's model")
    }
    let recorded = evidence.recordedHashes ?? [:]
    let expected = evidence.expectedHashes ?? [:]
    var names = Set(evidence.undecided ?? [])
    if let comparison = evidence.comparison {
      names.formUnion(comparison.differing + comparison.onlyInStore + comparison.onlyInModel)
      add("Entities that agree", "\(comparison.agreeing.count)")
    } else {
      names.formUnion(recorded.keys)
    }
    add(
      "Hashes (store, then model)",
      list: names.sorted().map { name in
        "\(name): \(recorded[name]?.hex ?? "-") \(expected[name]?.hex ?? "-")"
      })
  }

  mutating func add(_ seal: StoreSeal) {
    let files = seal.files.filter { $0.kind == .file }
    add("Kept", "\(counted(files.count, "file")), \(counted(seal.sizeBytes, "byte"))")
    add(
      "Seal (SHA-256)",
      list: files.map { "\($0.sha256 ?? "-") \($0.name) (\(counted($0.sizeBytes, "byte")))" })
  }
}
