import ArgumentParser
import Foundation
import SafeText
import StoreExtraction
import StoreFiles
import StoreRecovery
import SupportBundle
import Terminal

struct BundleShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract:
      "Show on one screen what a bundle says: the incident, the store, its health and counts.",
    discussion: """
      Example: lifeboat bundle show Notes.zip.age -i support.key

      Exit status: 0; 1 when the archive and its manifest contradict each other; 65 when the file is not a bundle, \
      none of the given keys opens it, or a record was changed; 66 when the file is missing.
      """)

  @Argument(help: .bundle, completion: .file())
  var path: String

  @OptionGroup(title: "Encryption") var secrets: BundleSecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.bundleSummary"
    let version = 1
    let path: String
    let contents: String
    let created: String
    /// The incident that the bundle is about; nil if the store was not set aside.
    let incident: Incident?
    /// The inspection of the store; nil when the store could not be read while the bundle was made.
    let inspection: StoreInspection?
    /// The entries that were compared with the manifest and differ from it; nil when there are none.
    let problems: [BundleVerification.Problem]?
  }

  func run() throws {
    let (reader, contents) = try secrets.reading(path) { bundle -> (ZipReader, BundleContents) in
      let reader = try ZipReader(bundle)
      return (reader, try BundleContents(of: reader, comparing: BundleContents.comparedBytes))
    }
    let manifest = contents.manifest
    let incident = try record("incident.json", of: reader, manifest, as: Incident.self)
    let inspection = try record(
      StoreBundle.inspectionName, of: reader, manifest, as: StoreInspection.self)
    try display.write(
      json: Report(
        path: path, contents: manifest.contents.rawValue, created: manifest.created,
        incident: incident, inspection: inspection,
        problems: contents.problems.isEmpty ? nil : contents.problems),
      orText: text(contents, incident, inspection), evenIfQuiet: true)
    try display.tell(contents.problems, of: path, secrets.argument(path))
  }

  private func text(
    _ contents: BundleContents, _ incident: Incident?, _ inspection: StoreInspection?
  ) -> String {
    let manifest = contents.manifest
    var block = KeyValueBlock()
    block.add(
      PathText.lastComponent(of: path),
      "made by \(manifest.tool.name) \(manifest.tool.version), \(manifest.created); holds \(holds(manifest))"
    )
    if let incident {
      block.add("Incident", "\(incident.id): \(incident.verdict.reason)")
      block.add("App", incident.app.words)
    }
    // Only what was left out of the rows is shown here; `lifeboat bundle list` shows everything that was left out.
    for (index, sentence) in manifest.withheld.filter({
      PathText.starts($0, with: "Rows ")
    }).enumerated() {
      block.add(index == 0 ? "Left out" : "", sentence, tone: .yellow)
    }
    if !contents.problems.isEmpty {
      block.add("NOT WHOLE", "lifeboat bundle verify says what is wrong", tone: .red)
    }
    block.add(
      "Next", [.init("lifeboat bundle extract \(secrets.argument(path)) -o DIR", "unpack it")])
    var text = block.text(width: display.width, style: display.style)
    if let inspection {
      text +=
        "\n" + InspectionText(inspection: inspection, display: display, isOfBundle: true).text
    } else {
      let saysWhy = manifest.entries.contains { PathText.isSame($0.name, "problem.json") }
      text +=
        saysWhy
        ? "The store could not be read; problem.json in the bundle says why.\n"
        : "The bundle holds no inspection of the store.\n"
    }
    return text
  }

  private func holds(_ manifest: BundleManifest) -> String {
    switch manifest.contents {
    case .structure: "no rows"
    case .rows: "rows"
    case .store: "the files of the store"
    }
  }

  /// Reads a record of the bundle. Nil when neither the archive nor the manifest has an entry with the record's name.
  ///
  /// - Throws: `bundle.entryChanged` when the record is not as it was packed.
  private func record<Record: Decodable>(
    _ name: String, of reader: ZipReader, _ manifest: BundleManifest, as type: Record.Type
  ) throws -> Record? {
    let entry = reader.entry(named: name)
    let listed = manifest.entries.first { PathText.isSame($0.name, name) }
    guard entry != nil || listed != nil else { return nil }
    let bytes = try entry.map { try reader.bytes(of: $0, limit: RecordFile.maxBytes) }
    guard let bytes, Digest.sha256(bytes) == listed?.sha256 else {
      throw Failure(
        65, BundleError.Code.entryChanged.rawValue,
        "\(path): \(name) has changed since it was packed",
        hint:
          "ask for the bundle once more; to see what is wrong, run: lifeboat bundle verify \(secrets.argument(path))"
      )
    }
    do { return try RecordFile.decode(bytes, as: type) } catch is DecodingError {
      throw Failure(
        65, "bundle.badRecord",
        "\(path): \(name) is not a valid record, or was written by a newer version of lifeboat")
    }
  }
}
