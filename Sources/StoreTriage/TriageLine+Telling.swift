import CoreDataStore
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreRecovery

// Copies the contents of incident records and inspections into a triage line.
extension TriageLine {
  /// Copies the verdict, codes, models, app, store and date from an incident's record into this line.
  mutating func tell(_ incident: Incident) {
    signature.verdict = incident.verdict.finding.rawValue
    signature.codes = Self.codes(incident.evidence.failure)
    if let model = incident.model {
      signature.model = .init(
        writtenBy: model.writtenBy.map(ShortText.name),
        expected: model.expected.map(ShortText.name)
          ?? incident.evidence.expectedHashes.map { Self.checksum(ModelHashes.checksum(of: $0)) })
    }
    app = App(
      name: ShortText.name(incident.app.name), version: ShortText.name(incident.app.version),
      build: incident.app.build.map(ShortText.name))
    signature.build = app.map { app in
      let parts = [app.version, app.build.map { "(\($0))" } ?? ""].filter { !$0.isEmpty }
      return parts.joined(separator: " ")
    }
    store = Store(kind: nil, uuid: incident.storeUUID.map(ShortText.name), system: nil)
    date = ShortText.second(incident.created)
    dateSource = date == nil ? nil : .incident
  }

  private static func codes(_ failure: StoreEvidence.Failure?) -> String? {
    let codes = [
      failure?.sqliteCode.map { "sqlite.\($0)" }, failure?.cocoaCode.map { "cocoa.\($0)" },
      failure?.posixCode.map { "posix.\($0)" },
    ].compactMap(\.self)
    return codes.isEmpty ? nil : codes.joined(separator: " ")
  }

  /// Adds the findings, sizes and row counts of `inspection` to the line. If `inspection` is nil, nothing is added.
  /// Then sets the remedy, and the ids of the analysers whose conditions hold for `facts`.
  mutating func tell(
    _ inspection: StoreInspection?, _ facts: AnalyserFacts, _ analysers: Analysers
  ) {
    if let inspection { tell(inspection) }
    let analyses = analysers.analyses(facts).map { ShortText.word($0.id) }
    signature.analysers = Array(Set(analyses)).sorted()
    fix = Fix(of: self, analyses: analyses)
  }

  private mutating func tell(_ inspection: StoreInspection) {
    let places = DamagePlaces(inspection.findings, inspection.kind)
    findings = Findings(
      damage: inspection.damageCount,
      notes: inspection.findings.count { $0.severity == .note }, places: places.places)
    signature.damage = places.words
    // The verdict of an incident is not replaced, because an incident also records how the store failed to open.
    if app == nil {
      signature.verdict =
        inspection.damageCount > 0 ? TriageSignature.corrupt : TriageSignature.healthy
    }
    signature.sqlite = ShortText.name(inspection.file.sqliteVersion)
    let metadata = inspection.metadata
    if signature.model?.writtenBy == nil, let name = Self.modelName(metadata) {
      signature.model = .init(writtenBy: name, expected: signature.model?.expected)
    }
    store = Store(
      kind: inspection.kind.rawValue,
      uuid: metadata?.uuid.map(ShortText.name) ?? store?.uuid,
      system: metadata?.system.map(ShortText.name))
    sizes = Sizes(
      inputBytes: sizes?.inputBytes, storeBytes: inspection.file.sizeBytes,
      logBytes: inspection.writeAheadLog?.sizeBytes, pages: Int64(inspection.file.pageCount))
    rows = Self.rows(inspection)
  }

  /// Returns the version identifiers of the model that wrote the store. If the metadata has none, returns the beginning
  /// of the checksum of the model's version hashes. Nil when the metadata has neither.
  private static func modelName(_ metadata: StoreInspection.Metadata?) -> String? {
    let names = metadata?.versionIdentifiers.filter { !$0.utf8.isEmpty } ?? []
    if !names.isEmpty { return ShortText.name(names.joined(separator: ", ")) }
    return metadata?.checksum.map(checksum)
  }

  private static func checksum(_ text: String) -> String {
    "checksum " + ShortText.name(String(text.unicodeScalars.prefix(12)))
  }

  /// Returns the numbers of live, lost and recoverable rows, as far as an inspection shows them. In a store with damage
  /// or with a broken write-ahead log, the numbers of lost and recoverable rows are unknown. If the schema of a damaged
  /// store cannot be read, the number of live rows is unknown, too.
  private static func rows(_ inspection: StoreInspection) -> Rows {
    let isDamaged = inspection.damageCount > 0
    let isBlind = isDamaged && inspection.tables.isEmpty
    let live = isBlind ? nil : inspection.liveRowCount
    let log = inspection.writeAheadLog
    let isWhole =
      !isDamaged && log?.problem == nil && (log?.committedFramesBehindBreak ?? 0) == 0
    return Rows(live: live, lost: isWhole ? 0 : nil, recoverable: isWhole ? live : nil)
  }
}
