import Foundation
import ModelTools
import ObjectModel
import RowText
import SafeText
import StoreExtraction

/// The result of packing a reduced copy of a bundle.
package struct BundleCopy: Sendable {
  package let receipt: BundleRequest.Receipt
  /// Sentences that say what the original bundle has and the copy lacks.
  package let removed: [String]

  package init(receipt: BundleRequest.Receipt, removed: [String]) {
    self.receipt = receipt
    self.removed = removed
  }
}

extension BundleRequest {
  /// The names of the records that are copied unchanged. A record is an entry that describes the store or the incident.
  /// Rows, the model, and files of the store are not records.
  private static let records: Set<String> = [
    "incident.txt", "metadata.json", "hashes.json", "schema.sql", "counts.json", "findings.ndjson",
    "problem.json",
  ]
  /// The names of the records that list files of the store. In the copy of such a record, details such as the files'
  /// inode numbers are left out (`JSONValue.withoutTracesOfFiles`).
  private static let recordsOfFiles: Set<String> = ["incident.json", StoreBundle.inspectionName]
  /// The maximum size, in bytes, of a record in ``recordsOfFiles``. Such a record is read into memory as a whole. A
  /// larger record is left out of the copy.
  private static let maxRecordBytes: UInt64 = 16 << 20
  private static let modelName = "model.xcdatamodel/contents"

  /// Packs a reduced copy of a bundle. The store's files are left out. A token replaces each value of a row that the
  /// allow-list does not name. Older bundles may have details of files, such as inode numbers, in their records; the
  /// copy leaves these details out. Before the copy is published, it is searched for strings that must not be in it
  /// (``ResidueScan``).
  ///
  /// - Parameters:
  ///   - bundle: the original bundle, unpacked.
  ///   - output: the path of the copy; nil to compute the result without writing the copy.
  ///   - isCancelled: called repeatedly while bytes are packed. If it returns true, the work ends with
  ///     `bundle.cancelled`.
  ///   - making: as in ``make(of:_:to:progress:isCancelled:making:)``.
  /// - Returns: what was packed, and what was removed.
  /// - Throws: ``BundleError``: `bundle.badRecord` for rows that cannot be read, `bundle.unknownName` for an entity or
  ///   attribute that the rows do not have, `bundle.entryChanged` for a damaged bundle.
  package func copy(
    of bundle: UnpackedBundle, to output: String?, isCancelled: () -> Bool = { false },
    making: @escaping OutputTree.Making = { _ = $1() }
  ) throws -> BundleCopy {
    if let part = bundle.skipped.first {
      throw BundleError(
        .entryChanged,
        "a part of the bundle is damaged, and a copy would hide the damage, so no copy was made: "
          + "\(part.reason)",
        entry: part.name)
    }
    let old = bundle.manifest
    let hasRows = contents == .rows && old.entries.contains { $0.name == StoreBundle.rowsName }
    let kind: BundleManifest.Contents = hasRows ? .rows : .structure
    var plan = try BundlePlan(
      tool: tool,
      created: BundleDate(secondsSince1970: created.timeIntervalSince1970.rounded(.down)),
      contents: kind)
    old.withheld.forEach { plan.withhold($0) }
    var removed: [String] = []
    func leaveOut(_ sentence: String) {
      removed.append(sentence)
      plan.withhold(sentence)
    }
    func path(_ name: String) -> String { PathText.joined(bundle.path, name) }
    let model = (try? Data(contentsOf: URL(fileURLWithPath: path(Self.modelName)))).flatMap {
      try? ManagedObjectModel(contentsXML: [UInt8]($0))
    }
    var lines: RowLines?
    for entry in old.entries {
      switch entry.name {
      case StoreBundle.rowsName:
        guard hasRows else {
          leaveOut("The rows of the bundle.")
          continue
        }
        let names = try NameTokens(
          after: old.entries.map { try Self.highestToken(path($0.name)) }.max() ?? 0)
        let (file, done) = try rewritten(path(entry.name), model, names)
        lines = done
        try plan.add(
          name: entry.name, source: .opened(file), origin: entry.source, why: redaction.why)
        Self.sentences(done).forEach(leaveOut)
        if let sentence = redaction.withheld, !old.withheld.contains(sentence) {
          plan.withhold(sentence)
        }
      case Self.modelName where !includesModel: leaveOut("The model that the store carries.")
      case let name
      where Self.recordsOfFiles.contains(name) && entry.sizeBytes <= Self.maxRecordBytes:
        let record = try Data(contentsOf: URL(fileURLWithPath: path(name)))
        let stripped = try JSONValue.withoutTracesOfFiles([UInt8](record))
        // An earlier build of Lifeboat may have written inode numbers and similar details into these records.
        if stripped != nil {
          leaveOut(
            "In \(name), inode numbers, exact sizes, times and checksums of files. New bundles do "
              + "not hold them.")
        }
        try plan.add(
          name: name,
          source: stripped.map { BundlePlan.Source.bytes($0) } ?? .file(path: path(name)),
          origin: entry.source, why: entry.why)
      case let name where name == Self.modelName || Self.records.contains(name):
        try plan.add(
          name: entry.name, source: .file(path: path(entry.name)), origin: entry.source,
          why: entry.why)
      default: leaveOut("\(Quoted.text(entry.name)), \(entry.sizeBytes) bytes: \(entry.why)")
      }
    }
    let (manifest, packed, cut) = try packed(
      plan, for: output, isCancelled: isCancelled, making: making)
    try packed.check()
    try ResidueScan(
      copying: kind, redaction, model, lines?.names ?? [:], nameTokens: lines?.nameTokens
    ) { body in
      guard old.entries.contains(where: { $0.name == StoreBundle.rowsName }) else { return }
      try RowLines.forEach(at: path(StoreBundle.rowsName)) {
        try body($0)
        return true
      }
    }.check(packed)
    let size =
      output == nil
      ? packed.sizeBytes : try packed.publish(isCancelled: isCancelled, making: making)
    return BundleCopy(
      receipt: Receipt(
        manifest: manifest, sizeBytes: size, findings: [], isPartial: false),
      removed: removed + cut)
  }

  /// Returns the highest number N in the tokens `name-N` of the file at `path`, which was unpacked from the original
  /// bundle. New tokens in the copy of the bundle get higher numbers.
  private static func highestToken(_ path: String) throws -> Int {
    let source = SequentialInput(try InputFile(path: path, followsLink: false))
    var highest = 0
    var last: [UInt8] = []
    while true {
      let bytes = try source.next(1 << 18)
      guard !bytes.isEmpty else { return highest }
      highest = max(highest, NameTokens.highest(in: last + bytes))
      last = Array((last + bytes).suffix(32))
    }
  }

  /// Copies the rows in a file, with a token in place of each value that the allow-list does not name. Throws when the
  /// request or its allow-list names an entity or attribute that the rows do not have.
  private func rewritten(
    _ path: String, _ model: ManagedObjectModel?, _ nameTokens: NameTokens
  ) throws -> (InputFile, RowLines) {
    guard case .values(except: let allowed) = redaction else {
      throw BundleError(
        .misuse, "a copy of a bundle can show only the values that an allow-list names")
    }
    var lines = RowLines(of: entities, allowing: allowed, model, nameTokens)
    let made = try ExclusiveOutput(unnamed: StoreBundle.rowsName)
    var output = OutputBuffer(descriptor: made.descriptor)
    try RowLines.forEach(at: path) {
      try lines.append($0, to: &output)
      return true
    }
    try output.finish()
    let asked = Set((entities ?? []).map { ExactText($0) })
    let inherited = lines.names.keys.flatMap { name in
      (model?.ancestors(of: name.text) ?? []).map { ExactText($0.name) }
    }
    if let name = asked.subtracting(lines.names.keys).subtracting(inherited).min() {
      throw BundleError(.unknownName, "the bundle has no rows of \(Quoted.text(name.text))")
    }
    for permission in allowed.permissions {
      let entities = lines.names.keys.filter { name in
        name == permission.entity
          || model?.ancestors(of: name.text).contains { ExactText($0.name) == permission.entity }
            ?? false
      }
      let isKnown = entities.contains { name in
        permission.attribute.map { lines.names[name]?.contains($0) ?? false } ?? true
      }
      guard isKnown else {
        throw BundleError(
          .unknownName,
          "the allow-list names \(Quoted.text(permission.name)), which the rows of the bundle do "
            + "not have"
        )
      }
    }
    return (try made.input(), lines)
  }

  private static func sentences(_ lines: RowLines) -> [String] {
    var sentences: [String] = []
    if lines.droppedRowCount > 0 {
      sentences.append(
        "Rows left out because their entities were not asked for: \(lines.droppedRowCount).")
    }
    if lines.tokenCount > 0 {
      sentences.append("Values of rows, each replaced by a token: \(lines.tokenCount).")
      if lines.hasOlderTokens {
        sentences.append(
          "Tokens that this copy added cannot be compared with the tokens of the original bundle.")
      }
    }
    return sentences + lines.nameTokens.sentences(besideFiles: false)
  }
}
