import ArgumentParser
import Foundation
import Quoting
import SafeText
import StoreExtraction
import StoreRecovery
import SupportBundle
import Terminal

/// The command `lifeboat bundle show`, which sums up a bundle on one screen.
struct BundleShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract:
      "Show on one screen what a bundle says: the incident, the store, its health and counts.",
    discussion: """
      Example: lifeboat bundle show Notes.zip.age -i support.key

      Exit status: 0, 65 not a bundle, or no key at hand opens it, 66 missing.
      """)

  @Argument(help: "The bundle.", completion: .file())
  var path: String

  @OptionGroup(title: "Encryption") var secrets: BundleSecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form of the summary.
  struct Report: Encodable {
    let schema = "lifeboat.bundleSummary"
    let version = 1
    let path: String
    let contents: String
    let created: String
    /// The incident; nil in a bundle of a store that was not set aside.
    let incident: Incident?
    /// The inspection of the store; nil when the store could not be read while the bundle was made.
    let inspection: StoreInspection?
  }

  func run() throws {
    let reader = try ZipReader(try secrets.open(path))
    let contents = try BundleContents(of: reader)
    let incident = try record("incident.json", of: reader, as: Incident.self)
    let inspection = try record(StoreBundle.inspectionName, of: reader, as: StoreInspection.self)
    if display.json {
      return try display.write(
        json: Report(
          path: path, contents: contents.manifest.contents.rawValue,
          created: contents.manifest.created, incident: incident, inspection: inspection))
    }
    var block = KeyValueBlock()
    block.add(
      PathText.lastComponent(of: path),
      "made by \(contents.manifest.tool.name) \(contents.manifest.tool.version), \(contents.manifest.created); holds \(holds(contents))"
    )
    if let incident {
      block.add("Incident", "\(incident.id): \(incident.verdict.reason)")
      let app = [incident.app.name, incident.app.version].compactMap { $0 }
      block.add("App", app.joined(separator: " "))
    }
    // Only what was left out of the rows is shown here; `lifeboat bundle list` shows everything that was left out.
    for (index, sentence) in contents.manifest.withheld.filter({
      PathText.starts($0, with: "Rows ")
    }).enumerated() {
      block.add(index == 0 ? "Left out" : "", sentence, tone: .yellow)
    }
    if !contents.problems.isEmpty {
      block.add("NOT WHOLE", "lifeboat bundle verify says what is wrong", tone: .red)
    }
    block.add(
      "Next", [.init("lifeboat bundle extract \(ShellText.path(path)) -o DIR", "unpack it")])
    var text = block.text(width: display.width, style: display.style)
    if let inspection {
      text += "\n" + InspectionText(inspection, display, isOfBundle: true).text
    } else {
      text += "The store could not be read; problem.json in the bundle says why.\n"
    }
    try display.write(text)
  }

  private func holds(_ contents: BundleContents) -> String {
    switch contents.manifest.contents {
    case .structure: "no rows"
    case .rows: "rows"
    case .store: "the files of the store"
    }
  }

  /// Reads a record of the bundle; nil when the bundle has no entry with this name.
  private func record<Record: Decodable>(
    _ name: String, of reader: ZipReader, as type: Record.Type
  ) throws -> Record? {
    guard let entry = reader.entry(named: name) else { return nil }
    do {
      return try RecordFile.decode(reader.bytes(of: entry, limit: RecordFile.maxBytes), as: type)
    } catch is DecodingError {
      throw Failure(
        65, "bundle.badRecord",
        "\(path): \(name) is not a valid record, or was written by a newer version of lifeboat")
    }
  }
}
