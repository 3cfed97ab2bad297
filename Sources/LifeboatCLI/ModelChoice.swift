import ObjectModel

/// Which version of a model is meant.
enum ModelChoice {
  /// The version named, else the one marked as current, else the only one.
  static func version(at path: String, named name: String?) throws -> (
    model: ManagedObjectModel, version: ModelCollection.Version, collection: ModelCollection
  ) {
    let collection = try ModelCollection(at: path)
    let version = try version(of: collection, at: path, named: name)
    if let model = version.model { return (model, version, collection) }
    if let problem = version.problem { throw problem }
    throw Failure(
      65, "model.hashesOnly", "\(path): \(version.name) is there as version hashes only",
      hint: "name the model itself: an .xcdatamodel or .mom")
  }

  static func version(of collection: ModelCollection, at path: String, named name: String?) throws
    -> ModelCollection.Version
  {
    let names = collection.versions.map(\.name)
    if let name {
      let bare =
        name.hasSuffix(".xcdatamodel")
        ? String(name.dropLast(12))
        : name.hasSuffix(".mom") ? String(name.dropLast(4)) : name
      guard let version = collection.versions.first(where: { $0.name == bare }) else {
        throw Failure(
          64, "usage.noSuchVersion",
          "\(path) has no version \(name); it has \(names.joined(separator: ", "))")
      }
      return version
    }
    guard let current = collection.current else {
      throw Failure(
        64, "usage.whichVersion",
        "\(path) marks no version as current; it has \(names.joined(separator: ", "))",
        hint: "name one with --model-version")
    }
    return current
  }
}
