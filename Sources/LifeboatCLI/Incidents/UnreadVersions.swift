import ObjectModel
import SafeText
import Terminal

/// The versions that could not be read, for reports on which version wrote a store.
enum UnreadVersions {
  /// The maximum number of versions named in text.
  private static let shown = 10

  /// A line for each version that could not be read.
  static func text(_ versions: [ModelCollection.Version]) -> String {
    var text = ""
    for version in versions.prefix(shown) {
      text += "\(VisibleText.visible(version.name)) could not be read: "
      text += VisibleText.visible(reason(version)) + "; it may be the one that wrote the store\n"
    }
    if versions.count > shown {
      text += "and \(Quantity.count(versions.count - shown)) more could not be read\n"
    }
    return text
  }

  /// Why a version could not be read, as a clause with its path.
  private static func reason(_ version: ModelCollection.Version) -> String {
    guard let problem = version.problem else { return version.path }
    return (PathText.dropping(suffix: ".", from: problem.message) ?? problem.message) + ", "
      + (problem.path ?? version.path)
  }

  /// One version in the JSON form.
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
