import ObjectModel
import SafeText
import Terminal

/// Lists the model versions that could not be read, for reports on which version wrote a store.
enum UnreadVersions {
  /// The maximum number of versions that the text names.
  private static let shown = 10

  static func text(_ versions: [ModelCollection.Version]) -> String {
    var text = ""
    for version in versions.prefix(shown) {
      text += "\(VisibleText.visible(version.name)) could not be read: "
      text += VisibleText.visible(reason(version)) + "; this version may have written the store\n"
    }
    if versions.count > shown {
      text +=
        "and \(Quantity.count(versions.count - shown, "more version")) could not be read\n"
    }
    return text
  }

  /// The reason why a version could not be read, as a clause that contains the path of the file.
  private static func reason(_ version: ModelCollection.Version) -> String {
    guard let problem = version.problem else { return version.path }
    return (PathText.dropping(suffix: ".", from: problem.message) ?? problem.message) + ", "
      + (problem.path ?? version.path)
  }

  /// The JSON output about one model version that could not be read.
  struct Report: Encodable {
    let name: String
    let path: String
    let problem: String?

    init(_ version: ModelCollection.Version) {
      name = version.name
      path = version.path
      problem = version.problem?.message
    }
  }
}
