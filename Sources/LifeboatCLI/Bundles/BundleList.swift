import ArgumentParser
import Quoting
import SafeText
import SupportBundle
import Terminal

struct BundleList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what is in a bundle, without unpacking it.",
    discussion: """
      Example: lifeboat bundle list Notes-support.zip

      The bytes of entries are compared with the manifest up to 16 MiB; lifeboat bundle verify compares all.

      Exit status: 0; 1 when the archive and its manifest contradict each other; 65 when the file is not a bundle; 66 \
      when it is missing.
      """)

  @Argument(help: .bundle, completion: .file())
  var path: String

  @OptionGroup(title: "Encryption") var secrets: BundleSecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    struct Entry: Encodable {
      let name: String
      let sizeBytes: UInt64
      let compressedBytes: UInt64
      let isListed: Bool
    }

    private enum CodingKeys: String, CodingKey { case archive, problems }

    let contents: BundleContents

    func encode(to encoder: any Encoder) throws {
      try contents.manifest.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(
        contents.entries.map { entry, listed in
          Entry(
            name: entry.name, sizeBytes: entry.size, compressedBytes: entry.compressedSize,
            isListed: listed != nil)
        }, forKey: .archive)
      try container.encode(contents.problems, forKey: .problems)
    }
  }

  func run() throws {
    let contents = try secrets.reading(path) {
      try BundleContents(of: ZipReader($0), comparing: BundleContents.comparedBytes)
    }
    try display.write(
      json: Report(contents: contents), orText: text(of: contents), evenIfQuiet: true)
    try display.tell(contents.problems, of: path, secrets.argument(path))
  }

  private func text(of contents: BundleContents) -> String {
    let manifest = contents.manifest
    var text =
      "made by \(VisibleText.visible(manifest.tool.name)) \(VisibleText.visible(manifest.tool.version)), "
    text += "\(VisibleText.visible(manifest.created)); contents: \(manifest.contents.rawValue)\n"
    text += BundleText.table(
      contents.entries.map { entry, listed in
        let isManifest = PathText.isSame(entry.name, BundleManifest.entryName)
        let why =
          listed?.why
          ?? (isManifest ? "the list of all entries, and of what was left out" : "NOT LISTED")
        return (entry.name, entry.size, why)
      }, display)
    for sentence in manifest.withheld { text += "left out: \(VisibleText.visible(sentence))\n" }
    text += BundleText.lines(contents.problems)
    if !contents.problems.isEmpty {
      text += "NOT INTACT: the bundle differs from its manifest; ask for the bundle again\n"
    }
    return text
  }
}
