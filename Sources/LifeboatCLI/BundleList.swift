import ArgumentParser
import SafeText
import SupportBundle
import Terminal

/// `lifeboat bundle list`
struct BundleList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what is in a bundle, without unpacking it.",
    discussion: "Example: lifeboat bundle list Notes-support.zip")

  @Argument(help: "The bundle.", completion: .file())
  var path: String

  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() throws {
    let reader = try ZipReader(path: path)
    guard let entry = reader.entry(named: BundleManifest.entryName) else {
      throw Failure(
        65, "bundle.manifestMissing", "\(path): no support bundle: it has no manifest.json",
        hint: "list a plain zip with: unzip -l")
    }
    let manifest = try BundleManifest(
      json: try reader.bytes(of: entry, limit: BundleManifest.maxBytes))
    if display.json {
      try display.write(json: manifest)
      return
    }
    var text =
      "made by \(VisibleText.visible(manifest.tool.name)) \(VisibleText.visible(manifest.tool.version)), "
    text += "\(VisibleText.visible(manifest.created)); contents: \(manifest.contents.rawValue)\n"
    text += BundleText.table(manifest, display)
    for sentence in manifest.withheld { text += "left out: \(VisibleText.visible(sentence))\n" }
    try display.write(text)
  }
}
