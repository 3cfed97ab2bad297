import ArgumentParser
import CoreDataStore
import ObjectModel
import SupportBundle
import Terminal

/// `lifeboat model identify`
struct ModelIdentify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identify",
    abstract: "Say which version of a model wrote a store.",
    discussion: """
      Example: lifeboat model identify Notes.sqlite Notes.xcdatamodeld

      Exit status: 0 when a version fits, 1 when none does.
      """)

  @Argument(help: "The store.")
  var store: String

  @Argument(help: "Models, or folders that hold models.")
  var models: [String]

  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form.
  struct Report: Encodable {
    struct Match: Encodable {
      let name: String
      let path: String
    }

    struct Nearest: Encodable {
      let name: String
      let path: String
      let agreeing: Int
      let of: Int
    }

    let schema = "lifeboat.modelIdentity"
    let version = 1
    let store: String
    let matches: [Match]
    let nearest: Nearest?
  }

  func run() throws {
    // What is no store at all is told as the reader of stores tells it.
    let recorded =
      UnpackedArchive.isZip(store)
      ? try ModelInput(store).store?.recorded?.hashes
      : try CoreDataStore(path: store).metadata?.versionHashes
    guard let hashes = recorded, !hashes.isEmpty else {
      throw Failure(65, "coredata.noHashes", "\(store): no version hashes are recorded in it")
    }
    var matches: [Report.Match] = []
    var nearest: Report.Nearest?
    for path in models {
      let collection = try ModelInput(path).collection
      matches += collection.versions(matching: hashes).map { .init(name: $0.name, path: $0.path) }
      if let near = collection.nearest(to: hashes), near.agreeing > nearest?.agreeing ?? -1 {
        nearest = .init(
          name: near.version.name, path: near.version.path, agreeing: near.agreeing, of: near.of)
      }
    }
    let report = Report(
      store: store, matches: matches, nearest: matches.isEmpty ? nearest : nil)
    if display.json {
      try display.write(json: report)
    } else if let first = matches.first {
      var text =
        "written by \(DisplayText.visible(first.name)), \(DisplayText.visible(first.path))\n"
      for other in matches.dropFirst() {
        text += "also fits \(DisplayText.visible(other.name)), \(DisplayText.visible(other.path))\n"
      }
      try display.write(text)
    } else {
      try display.write(
        "no version fits"
          + (nearest.map {
            "; nearest is \(DisplayText.visible($0.name)), with \($0.agreeing) of \($0.of) entities the same"
          } ?? "") + "\n")
    }
    if matches.isEmpty { try display.exitWithFindings() }
  }
}
